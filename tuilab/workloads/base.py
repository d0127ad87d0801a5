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
"""A context manager that marks its content in a profile."""


class Unavailable(Exception):
    """Raised if the arm cannot run here; the message gives the reason. Not a failure."""


@dataclass
class Case:
    """One arm, ready to be timed.

    call: one execution, start to end; the engine synchronises the device after it. scope: entered around a
    block of calls, outside the timed region (the device scope). compute: the call without its copies,
    returning the tensors on the device; None if the workload has no such part. The device that holds its
    outputs counts as the one that computed. copy_in, copy_out: the copies alone, copying the arguments and
    results of `compute`; None without copies. marked: also one execution, with `with mark(name):` around the
    parts that a profile cannot distinguish: `copy_in`, `copy_out`, `input_wait`, or a name of the workload's
    own, one after another. None if there are no such parts. device: the device that did the work, as observed
    by the workload; "" lets the engine observe it. copies: True if the call only copies; its device is then
    the end of the copy that is not the host, as reported by the workload. function: the callable whose graph
    the placement pass examines, with its arguments. datasets: the tf.data.Datasets that feed the call, so
    that the placement pass can show their functions. drained: True if the call's input is prepared ahead and
    `scope` draws the elements that are ready. least_calls: minimum calls of a block, if the work around a
    block costs as much as several calls. close: frees files, processes and memory.
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
    """The worker's input to a workload's `build`.

    tf: the TensorFlow module. device, host: TensorFlow device names (`/GPU:0`, `/CPU:0`). cold: True to
    rotate inputs that together exceed the last-level cache. observing: True to report facts that are the same
    in every process. Only the first process reports them; further processes only time the arms.
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
        """Return a choice's value."""

    def flag(self, name: str) -> bool:
        """Return a flag's value."""

    def compiled(self, function: Function) -> Function:
        """Return the function in the arm's mode: unchanged, as a graph, or compiled by XLA."""

    def tensors(
        self,
        function: Function,
        *inputs: "np.ndarray[Any, Any]",
        pack: Callable[[Any], Any] = tuple,
    ) -> Case:
        """Return the usual case: a function of tensors, with inputs given as host arrays.

        pack: makes the function's arguments from the tensors, if these are parts of nested or ragged ones.
        The arm decides the device, the mode, and whether inputs stay on the device or are copied in each call
        with their results.
        """

    def progress(self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "") -> None:
        """Report the progress of a long preparation.

        Raises the engine's cancellation if a stop was requested.
        """

    def fact(self, name: str, value: Value | float, text: str) -> None:
        """Report an observation other than time, with a sentence."""


@dataclass(frozen=True)
class Workload:
    """A declaration and the function that builds an arm.

    memory: host bytes that the values need, None if not known. memory_of: the same for an arm of a variant,
    if different. work: minimum work of one call, None to read it from the graph. info: for a model file, its
    content. layers: kinds by name, or a model's own layers; None if only a graph's name scopes show the
    layers. holds: objects that must stay alive as long as the workload.
    """

    declaration: Declaration
    build: Callable[[Build], Case]
    memory: Callable[[Mapping[str, Value]], int] | None = None
    work: Callable[[Mapping[str, Value], Arm], Work] | None = None
    info: ModelInfo | None = None
    layers: Mapping[str, Any] | None = None
    holds: object = None
    memory_of: Callable[[Mapping[str, Value], str], int] | None = None

    def needs(self, values: Mapping[str, Value], variant: str) -> int:
        """Return the host bytes that an arm of this variant needs; 0 if not known."""
        if self.memory_of is not None:
            return self.memory_of(values, variant)
        return self.memory(values) if self.memory is not None else 0
