"""Why an op runs where it runs: questions to a worker, and its answers."""

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Node
from tuilab.model.scenario import Scenario


class ExplainOp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-op`. dtype: "" for every dtype that the op takes."""

    op: str
    dtype: str = ""


class KernelLine(msgspec.Struct, frozen=True, kw_only=True):
    """Kernels of one device that want the same arguments in host memory.

    device: `CPU`, `GPU`, or `DEFAULT`, which also serves a GPU. dtypes: of the op's main type, () for any.
    """

    device: str
    dtypes: tuple[str, ...] = ()
    host_memory: tuple[str, ...] = ()


class OpExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab explain OP --json` prints; the answer to `explain-op`.

    dtype: as asked, null for none. gpu: whether a GPU of this build would run it with its data on the device.
    code: the reason's stable name. attribute: the type attribute that the dtype is of, "" where the op has
    none. forced: what TensorFlow says when the op is forced to the GPU, "" where that could not be tried.
    """

    op: str
    dtype: str | None
    gpu: bool
    reason: str
    evidence: str
    kernels: tuple[KernelLine, ...]
    code: str
    attribute: str = ""
    forced: str = ""
    gpu_visible: bool = False


class ExplainScenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the question `explain-scenario`: the arms to look at, each run once."""

    scenario: Scenario
    arms: tuple[Arm, ...]


class ArmPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """One arm as it was observed, or why it could not be. device: null where nothing ran."""

    arm: str
    requested: str
    device: str | None = None
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
    """The answer to `explain-scenario`: what was observed here, and the forecast for a GPU.

    forecast: of all arms that were observed on the first one's device; count: the most that one arm has.
    forced: what TensorFlow says to the first op that no GPU would run when it is forced there. sentence: the
    answer in words.
    """

    workload: str
    gpu_visible: bool
    no_gpu: str
    arms: tuple[ArmPlacement, ...]
    forecast: tuple[ForecastRow, ...]
    sentence: str
    forced: str = ""
