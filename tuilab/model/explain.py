"""Why an op runs where it runs: questions to a worker, and its answers."""

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Node
from tuilab.model.scenario import Scenario


class ExplainOp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-op`."""

    op: str
    dtype: str = ""
    """"" for every dtype that the op takes."""


class KernelLine(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one device that want the same arguments in host memory."""

    device: str
    """`CPU`, `GPU`, or `DEFAULT`, which also serves a GPU."""
    dtypes: tuple[str, ...] = ()
    """Of the op's main type, () for any."""
    host_memory: tuple[str, ...] = ()


class OpExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab explain OP --json` prints; the answer to `explain-op`."""

    op: str
    dtype: str | None
    """As asked, None for none."""
    gpu: bool
    """Whether a GPU of this build would run it with its data on the device."""
    reason: str
    evidence: str
    kernels: tuple[KernelLine, ...]
    code: str
    """The reason's stable name."""
    attribute: str = ""
    """The type attribute that the dtype is of, "" where the op has none."""
    forced: str = ""
    """What TensorFlow says when the op is forced to the GPU, "" where that could not be tried."""
    gpu_visible: bool = False


class ExplainScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-scenario`: the arms to look at, each run once."""

    scenario: Scenario
    arms: tuple[Arm, ...]


class ArmPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """One arm as it was observed, or why it could not be."""

    arm: str
    requested: str
    label: str = ""
    """Its name for people, as a run has it."""
    device: str | None = None
    """None if nothing ran."""
    nodes: tuple[Node, ...] = ()
    ops: int = 0
    folded: int = 0
    copies: int = 0
    copied: int = 0
    reason: str = ""


class ForecastRow(msgspec.Struct, frozen=True, kw_only=True):
    """An op of the scenario, and whether a GPU of this build would run it. Never a time."""

    op: str
    dtype: str
    gpu: bool
    code: str
    reason: str
    evidence: str
    names: tuple[str, ...] = ()
    count: int = 1


class ScenarioExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `explain-scenario`: what was observed here, and the forecast for a GPU."""

    workload: str
    gpu_visible: bool
    no_gpu: str
    arms: tuple[ArmPlacement, ...]
    forecast: tuple[ForecastRow, ...]
    """Of all arms that were observed on the first one's device; count: the most that one arm has."""
    sentence: str
    """The answer in words."""
    forced: str = ""
    """What TensorFlow says to the first op that no GPU would run when it is forced there."""
