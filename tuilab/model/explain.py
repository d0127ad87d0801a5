"""Requests to a worker about op placement, and the worker's answers."""

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Node
from tuilab.model.scenario import Scenario


class ExplainOp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the request `explain-op`."""

    op: str
    dtype: str = ""
    """The dtype to explain; "" for every dtype of the op."""


class KernelLine(msgspec.Struct, frozen=True, kw_only=True):
    """The kernels on one device that keep the same arguments in host memory."""

    device: str
    """`CPU`, `GPU`, or `DEFAULT`, which also serves a GPU."""
    dtypes: tuple[str, ...] = ()
    """Dtypes of the op's main type attribute; empty if the kernels accept any dtype."""
    host_memory: tuple[str, ...] = ()


class OpExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The object printed by `tuilab explain OP --json`; the answer to `explain-op`."""

    op: str
    dtype: str | None
    """The requested dtype; None if the request named none."""
    gpu: bool
    """True if a GPU would run the op in this TensorFlow build, provided that the op's data are on the GPU."""
    reason: str
    evidence: str
    kernels: tuple[KernelLine, ...]
    code: str
    """A stable name for the reason."""
    attribute: str = ""
    """The op's attribute for the dtype; "" if the op has none."""
    forced: str = ""
    """TensorFlow's error message when the op is forced onto the GPU; "" if forcing it was impossible."""
    gpu_visible: bool = False
    emulated: str = ""
    """The sentence that marks the GPU as emulated; "" without an emulated GPU."""


class ExplainScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the request `explain-scenario`."""

    scenario: Scenario
    arms: tuple[Arm, ...]


class ArmPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """The observed placement of one arm, or why nothing was observed."""

    arm: str
    requested: str
    label: str = ""
    """The arm's display label, as in a run."""
    device: str | None = None
    """The device that computed; None if nothing ran."""
    nodes: tuple[Node, ...] = ()
    ops: int = 0
    folded: int = 0
    copies: int = 0
    copied: int = 0
    reason: str = ""


class ForecastRow(msgspec.Struct, frozen=True, kw_only=True):
    """An op of the scenario, and whether a GPU would run it in this TensorFlow build."""

    op: str
    dtype: str
    gpu: bool
    code: str
    reason: str
    evidence: str
    names: tuple[str, ...] = ()
    count: int = 1
    at_most: bool = False
    """True if the count includes a branch that may not run."""


class ScenarioExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `explain-scenario`: the placement observed here, and a forecast for a GPU."""

    workload: str
    gpu_visible: bool
    no_gpu: str
    arms: tuple[ArmPlacement, ...]
    forecast: tuple[ForecastRow, ...]
    """The ops of the arms on one device; the arms on the other devices run the same ops. An op's count is its
    largest count in any arm.
    """
    sentence: str
    """The observed placement on a GPU, in a sentence; without an arm on a GPU, the forecast."""
    forced: str = ""
    """TensorFlow's error message when the first op without GPU support is forced onto the GPU."""
    emulated: str = ""
    """The sentence that marks the GPU as emulated; "" without an emulated GPU."""
