"""Questions to a worker about op placement, and the worker's answers."""

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Node
from tuilab.model.scenario import Scenario


class ExplainOp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-op`."""

    op: str
    dtype: str = ""
    """The dtype to explain; "" for every dtype of the op."""


class KernelLine(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels on one device that keep the same arguments in host memory."""

    device: str
    """`CPU`, `GPU`, or `DEFAULT`, which also serves a GPU."""
    dtypes: tuple[str, ...] = ()
    """Dtypes of the op's main type attribute; () for any."""
    host_memory: tuple[str, ...] = ()


class OpExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The object printed by `tuilab explain OP --json`; the answer to `explain-op`."""

    op: str
    dtype: str | None
    """The dtype in the request; None if the request named no dtype."""
    gpu: bool
    """True if a GPU would run the op in this build, if the op's data were on the device."""
    reason: str
    evidence: str
    kernels: tuple[KernelLine, ...]
    code: str
    """Stable name of the reason."""
    attribute: str = ""
    """The op's attribute that holds the dtype; "" if the op has none."""
    forced: str = ""
    """TensorFlow's error message when the op is forced onto the GPU; "" if this could not be tried."""
    gpu_visible: bool = False


class ExplainScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-scenario`: arms that run once each."""

    scenario: Scenario
    arms: tuple[Arm, ...]


class ArmPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """The observed placement of one arm, or the reason why there is none."""

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
    """An op of the scenario, and whether a GPU would run it in this build. Contains no times."""

    op: str
    dtype: str
    gpu: bool
    code: str
    reason: str
    evidence: str
    names: tuple[str, ...] = ()
    count: int = 1


class ScenarioExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `explain-scenario`: observations here, and the forecast for a GPU."""

    workload: str
    gpu_visible: bool
    no_gpu: str
    arms: tuple[ArmPlacement, ...]
    forecast: tuple[ForecastRow, ...]
    """Ops of all arms as observed on the first arm's device. Each count is the largest in any arm."""
    sentence: str
    """The answer in words."""
    forced: str = ""
    """TensorFlow's error message when the first op without GPU support is forced onto the GPU."""
