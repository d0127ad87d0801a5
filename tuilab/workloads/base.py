"""What a workload is made of: a declaration, and the function that, given TensorFlow, builds one arm."""

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
"""Makes a profile say what happens inside the context."""


class Unavailable(Exception):
    """This arm cannot run here, for the reason that the message gives. Not a failure."""


@dataclass
class Case:
    """One arm, ready to be timed.

    call: one execution, start to end; the engine synchronises the device after it.
    scope: entered around a block of calls, outside the timed region (the device scope).
    compute: the call without its copies, returning the tensors on the device; None if the workload
        has no such part. Its outputs tell which device computed.
    copy_in, copy_out: the copies alone, given what `compute` takes and returns; None without copies.
    marked: one execution too, with `with mark(name):` around what a profile cannot tell from the rest of it:
        `copy_in`, `copy_out`, `input_wait`, or a name of the workload's own, one after another. None if
        there is nothing to tell apart.
    device: the device that did the work as the workload observed it, "" to let the engine observe.
    copies: the call only copies; its device is the end that is not the host, by the workload's word alone.
    function: the callable whose graph the placement pass looks at, with its arguments.
    datasets: the tf.data.Datasets that feed the call, so that the placement pass can show their functions.
    drained: what feeds the call works ahead, and `scope` draws what lay ready.
    least_calls: calls of a block at least, where what surrounds a block costs as much as some calls.
    close: frees files, processes and memory.
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
    """What the worker hands to a workload's `build`.

    tf: the TensorFlow module. device, host: TensorFlow device names (`/GPU:0`, `/CPU:0`).
    cold: rotate inputs beyond the last-level cache. observing: whether what is so in every process of a run
    is asked for, alongside the time; a further process only times.
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
        """Return the function in the arm's mode: as it is, as one graph, or compiled by XLA."""

    def tensors(self, function: Function, *inputs: "np.ndarray[Any, Any]") -> Case:
        """Return the usual case: a function from tensors to tensors, with its inputs given as host arrays.

        The arm decides the device, the mode, and whether inputs stay on the device or are copied there
        and results back in each call.
        """

    def progress(self, stage: str, done: float = 0.0, total: float = 0.0, unit: str = "") -> None:
        """Describe what a long preparation does.

        Raises the engine's cancellation when a stop was asked for.
        """

    def fact(self, name: str, value: Value | float, text: str) -> None:
        """Report something observed alongside time, with a sentence that says it."""


@dataclass(frozen=True)
class Workload:
    """A declaration and the function that builds an arm of it.

    memory: bytes of host memory that the values will need at the peak, None if that is not known.
    memory_of: likewise of an arm of a variant, where they differ.
    work: what one call of an arm has to do at least, None if the worker is to read it from the graph.
    info: of a model's file, what it holds. layers: by name each one's kind, or a model's own layers; None
    where a graph's name scopes alone tell. holds: kept alive too.
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
        """Return the bytes that an arm of this variant needs at the values; 0 if that is not known."""
        if self.memory_of is not None:
            return self.memory_of(values, variant)
        return self.memory(values) if self.memory is not None else 0
