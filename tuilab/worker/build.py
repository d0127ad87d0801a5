"""Provides what a workload needs to build an arm: devices, modes and copies."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tuilab.model.arms import Arm, Mode
from tuilab.model.events import Fact, Progress
from tuilab.model.parameters import Value, check_values
from tuilab.model.quantity import size as shown
from tuilab.model.scenario import Scenario
from tuilab.worker.context import Context, Tell
from tuilab.workloads import find
from tuilab.workloads.base import Case, Function, Mark, Workload
from tuilab.workloads.parts.device import move_to, resident

MOST_SETS = 65_536
LARGEST_L2 = 128 * 2**20
"""Assumed bytes of a GPU's L2 cache, because TensorFlow does not report them. No GPU has a larger cache
(Blackwell's B200: 126 MB).
"""


def load(scenario: Scenario, tell: Tell | None = None) -> tuple[Workload, Scenario]:
    """Return the workload, and the scenario with checked values. tell: receives the progress of loading a
    model.
    """
    if scenario.file:
        from tuilab.worker.user import load as load_file

        workload: Workload = load_file(scenario.file, scenario.opening, tell)
    else:
        workload = find(scenario.workload)
    declaration = workload.declaration
    values = check_values(declaration.parameters, declaration.constraints, scenario.parameters)
    return workload, msgspec.structs.replace(scenario, parameters=values)


class ArmBuild:
    """The worker's implementation of `tuilab.workloads.base.Build`, for one arm at one size of a sweep."""

    def __init__(
        self,
        context: Context,
        run: str,
        arm: Arm,
        values: Mapping[str, Value],
        *,
        point: int = 0,
        cold: bool = False,
        observing: bool = True,
    ) -> None:
        self.tf = context.tf
        self.arm = arm
        self.values = values
        self.device = f"/{arm.device}"
        self.host = "/CPU:0"
        self.cold = cold
        self.observing = observing
        self._context, self._run, self._point = context, run, point

    def integer(self, name: str) -> int:
        return int(self.values[name])

    def word(self, name: str) -> str:
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        return bool(self.values[name])

    def compiled(self, function: Function) -> Function:
        if self.arm.mode == "eager":
            return function
        if str(getattr(function, "__module__", "")).startswith("tensorflow."):
            # In each call, a tf.function binds all parameters, and TensorFlow's own functions have many.
            function = _with_tensors_only(function)
        graph: Function = self.tf.function(function, jit_compile=True if self.arm.mode == "xla" else None)
        return graph

    def tensors(self, function: Function, *inputs: Any, pack: Callable[[Any], Any] = tuple) -> Case:
        tf, device, host = self.tf, self.device, self.host
        compiled = self.compiled(function)
        sets = [inputs] + [tuple(a.copy() for a in inputs) for _ in range(self._copies(inputs) - 1)]

        def on(place: str, arrays: Any) -> Any:
            return tuple(resident(tf, a, place) for a in arrays)

        def copy_in() -> Any:
            return pack([move_to(tf, tensor, device) for tensor in next_host()])

        def copy_out(outputs: Any) -> Any:
            return tf.nest.map_structure(_to_host, outputs)

        next_device = _rotation([pack(on(device, arrays)) for arrays in sets])

        def compute() -> Any:
            return compiled(*next_device())

        case = Case(
            call=compute,
            scope=lambda: tf.device(device),
            compute=compute,
            function=compiled,
            arguments=next_device(),
        )
        if self.arm.input == "copied":
            next_host = _rotation([on(host, arrays) for arrays in sets])
            case.call = lambda: copy_out(compiled(*copy_in()))
            case.marked = lambda mark: _copied(mark, copy_in, compiled, copy_out)
            case.copy_in, case.copy_out = copy_in, copy_out
        return case

    def progress(self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "") -> None:
        self._context.check(self._run)
        self._context.send(
            Progress(run=self._run, stage=stage, done=done, total=total, unit=unit, arm=self.arm.id)
        )

    def fact(self, name: str, value: Value | float, text: str) -> None:
        self._context.send(
            Fact(run=self._run, name=name, value=value, text=text, arm=self.arm.id, point=self._point)
        )

    def _copies(self, inputs: Any) -> int:
        """Return the number of input sets to use in turn. Cold inputs need enough sets to fill the last-level
        cache twice.
        """
        size = sum(a.nbytes for a in inputs)
        if not self.cold or not size:
            return 1
        gpu = self.arm.device.startswith("GPU")
        cache = LARGEST_L2 if gpu else last_level_cache()
        wanted = int(max(2, -(-2 * cache // size)))
        sets = min(MOST_SETS, wanted)
        kept = "the GPU's L2 cache is assumed to have" if gpu else "the last-level cache has"
        text = f"{sets:,} sets of inputs, {shown(sets * size)}, are used in turn; {kept} {shown(cache)}"
        if sets < wanted:
            text += " and holds most of them, so the inputs are not cold"
        self.fact("cold-bytes", sets * size, text)
        return sets


def _with_tensors_only(library: Function) -> Function:
    def call(*tensors: Any) -> Any:
        return library(*tensors)

    return call


def _copied(mark: Mark, copy_in: Function, function: Function, copy_out: Function) -> Any:
    with mark("copy_in"):
        inputs = copy_in()
    outputs = function(*inputs)
    with mark("copy_out"):
        return copy_out(outputs)


def _to_host(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def _rotation(sets: list[Any]) -> Callable[[], Any]:
    if len(sets) == 1:
        only = sets[0]
        return lambda: only
    return itertools.cycle(sets).__next__


def last_level_cache() -> int:
    sizes: list[int] = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 2**10, "M": 2**20}[text[-1]])
    return max(sizes, default=32 * 2**20)


def empty_call(tf: Any, mode: Mode, *arguments: Any) -> Callable[[], Any]:
    """Return a call that computes nothing, built like an arm's call in this mode.

    The call returns the first of `arguments`, or 0 without arguments.
    """
    kept = tf.zeros(())
    if mode == "eager":
        x = arguments[0] if arguments else kept
        return lambda: tf.raw_ops.Identity(input=x)
    function = tf.function(lambda *given: given[0] if given else kept, jit_compile=mode == "xla" or None)
    return lambda: function(*arguments)
