"""The parts of a workload: a declaration, and a function that builds an arm with TensorFlow."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tuilab.model.arms import Arm
from tuilab.model.models import ModelInfo
from tuilab.model.parameters import Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration

if TYPE_CHECKING:
    import numpy as np

Function = Callable[..., Any]
Mark = Callable[[str], AbstractContextManager[object]]
"""Takes a name, and returns a context manager that marks a part of the call with this name in a profile."""


class Unavailable(Exception):
    """Raised if the arm cannot run here, which is not a failure. The message states the reason."""


@dataclass
class Case:
    """One arm, ready to be timed.

    call: executes the arm once; the engine then synchronizes the device. scope: entered around a block of
    calls, outside the timed region. compute: the call without its copies, which returns tensors on the
    device; None if the call has no such part. The device that holds these tensors counts as the device that
    computed. copy_in, copy_out: the copies alone; None without copies. marked: like `call`, but with `with
    mark(name):` around parts that a profile cannot distinguish: `copy_in`, `copy_out`, `input_wait`, or a
    name defined by the workload; None if there are no such parts. The parts must not overlap. device: the
    device that did the work, as observed by the workload; "" lets the engine observe it. copies: True if the
    call only copies; `device` must then be the device that the host copies to or from. function, arguments:
    the callable whose graph the placement pass examines, and its arguments. datasets: the tf.data.Datasets
    that feed the call, whose functions the placement pass shows. drained: True if the call's input is
    prepared in advance and `scope` removes the elements that are ready. least_calls: minimum number of calls
    in a block, for a case in which the work around a block costs as much as several calls. close: frees
    files, processes and memory.
    """

    call: Callable[[], Any]
    scope: Callable[[], AbstractContextManager[Any]] = nullcontext
    compute: Callable[[], Any] | None = None
    copy_in: Callable[[], Any] | None = None
    copy_out: Callable[[Any], Any] | None = None
    marked: Callable[[Mark], Any] | None = None
    device: str = ""
    copies: bool = False
    function: Function | None = None
    arguments: tuple[Any, ...] = ()
    datasets: tuple[Any, ...] = ()
    drained: bool = False
    least_calls: int = 1
    close: Callable[[], None] = field(default=lambda: None)


class Build(Protocol):
    """The worker's services for a workload's `build` function.

    tf: the TensorFlow module. device, host: TensorFlow device names (`/GPU:0`, `/CPU:0`). cold: True to use
    several inputs in turn, which together exceed the last-level cache. observing: True if the workload should
    report facts that are equal in every process of a run; only one process reports them.
    """

    tf: Any
    arm: Arm
    values: Mapping[str, Value]
    device: str
    host: str
    cold: bool
    observing: bool

    def integer(self, name: str) -> int:
        """Return a numeric parameter's value."""

    def word(self, name: str) -> str:
        """Return the value of a parameter with named options."""

    def flag(self, name: str) -> bool:
        """Return the value of a flag parameter."""

    def compiled(self, function: Function) -> Function:
        """Return the function in the arm's mode: unchanged, as a graph, or compiled by XLA."""

    def tensors(
        self,
        function: Function,
        *inputs: "np.ndarray[Any, Any]",
        pack: Callable[[Any], Any] = tuple,
    ) -> Case:
        """Return the case for a function of tensors. inputs: host arrays.

        pack: builds the function's arguments from the tensors, if the arguments are nested or ragged. The arm
        decides the device, the mode, and whether inputs stay on the device or are copied in each call with
        their results.
        """

    def progress(self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "") -> None:
        """Report the progress of a long preparation. Raises an exception that ends the preparation if a stop
        was requested.
        """

    def fact(self, name: str, value: Value | float, text: str) -> None:
        """Report an observation other than a time, and a sentence that describes it."""


@dataclass(frozen=True)
class Workload:
    """A declaration and the function that builds an arm.

    memory: host bytes needed for given parameter values; None if unknown. memory_of: host bytes for an
    arm, if the arms differ in memory. work: minimum work of one call; None to count it in the graph.
    info: for a model file, its content. layers: the kind of each layer by name, or a model's layers; None if
    only the name scopes of the graph show the layers. holds: objects that must stay alive as long as the
    workload.
    """

    declaration: Declaration
    build: Callable[[Build], Case]
    memory: Callable[[Mapping[str, Value]], int] | None = None
    work: Callable[[Mapping[str, Value], Arm], Work] | None = None
    info: ModelInfo | None = None
    layers: Mapping[str, Any] | None = None
    holds: object = None
    memory_of: Callable[[Mapping[str, Value], Arm], int] | None = None

    def needs(self, values: Mapping[str, Value], arm: Arm) -> int:
        if self.memory_of is not None:
            return self.memory_of(values, arm)
        return self.memory(values) if self.memory is not None else 0
