"""A run's result for scripts: the fields of `tuilab run --json`."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Input, Mode
from tuilab.model.claims import Verdict
from tuilab.model.events import Node, Status
from tuilab.model.found import Found
from tuilab.model.models import BatchAnswer, ModelInfo
from tuilab.model.parameters import Value
from tuilab.model.quantity import half_of
from tuilab.model.roofline import ArmRoof, GpuBound, Roofs, SweepBound
from tuilab.model.scenario import Scenario

SCHEMA = 1
SHORT = 18
"""Maximum characters of a reason that is shown in place of a figure."""

CrossoverStatus = Literal["found", "none", "beyond", "several", "unknown"]


class MachineLine(msgspec.Struct, frozen=True, kw_only=True):
    """The main facts about a machine."""

    host: str
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    environment: str = ""
    """Folder of the environment whose Python measured; "" for the lab's own."""
    settings: tuple[str, ...] = ()
    """Settings of `environment`: `TF_ENABLE_ONEDNN_OPTS=0`."""


class CaveatLine(Found, frozen=True, omit_defaults=True):
    """A doubt about a figure."""


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run's figures can be trusted, and why not."""

    half_width: float | None
    """The largest relative half-width: half of an arm's 95% interval over its median (0 … 1); None if an arm
    has no interval."""
    wanted: float | None
    """The half-width that the budget requires."""
    precise: bool
    """True if every arm reached that half-width."""
    reasons: tuple[str, ...]
    """Reasons to doubt the figures, in two words each, most severe first."""
    badge: str
    """Precision and reasons in one line; "" if there is no doubt or no data yet."""
    of: str = ""
    """The variation that the intervals cover: `within this process and minute`, `over 5 processes, …`."""
    alike: str = ""
    """The range of medians from runs with the same settings on this machine, in a sentence; "" if there are
    too few runs.
    """


class Undisturbed(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's median in rounds without other load; the arm's own `median_s` covers all rounds."""

    median_s: float
    """Seconds per call."""
    ci95_s: tuple[float, float]
    """The 95% interval of the median."""
    n: int
    """Number of blocks."""
    sentence: str
    """A sentence with the median of the undisturbed rounds and the median of all rounds."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's figures. Times are seconds per call; None if the arm did not run."""

    id: str
    """A stable id for scripts: `cpu0.graph.resident.float32`."""
    label: str
    """The display label."""
    requested_device: str
    """The requested device: `GPU:0`."""
    device: str | None
    """The observed device; None if the arm did not run."""
    mode: Mode
    dtype: str
    input: Input
    variant: str
    host: str
    status: Status
    """`ok`, `unavailable`, `failed` or `cancelled`."""
    reason: str
    """Why the status is not `ok`."""
    median_s: float | None
    """Median over blocks of calls, so it measures throughput."""
    ci95_s: tuple[float, float] | None
    """The 95% interval of the median."""
    n: int
    """Number of blocks."""
    latency_s: float | None
    """Median seconds of single synchronized calls."""
    first_call_s: float | None
    """Seconds of the first call, which traces, optimizes, compiles and runs."""
    second_call_s: float | None
    """Seconds of the second call."""
    phases_s: dict[str, float]
    """Seconds per call by phase, as in `account`; all phases add up to `median_s`."""
    flags: tuple[CaveatLine, ...]
    """Caveats about this arm."""
    account: Account | None = None
    """The phases with intervals and sources; None if not measured."""
    examples_per_s: float | None = None
    """For a model, the batch divided by the median; None if the batch is fixed or there is no median."""
    roof: ArmRoof | None = None
    """The arm's rates compared with the device's roof; None if the work or the time is unknown."""
    undisturbed: Undisturbed | None = None
    """The figures from undisturbed rounds; None if these figures equal `median_s` within the noise, or too
    few rounds were undisturbed.
    """
    does: str = ""
    """What the arm's calls do, if the run's arms do different work. Only arms that do the same work are
    compared.
    """

    @property
    def half_width_s(self) -> float | None:
        return half_of(self.ci95_s)

    @property
    def why_no_figure(self) -> str:
        """The reason why the arm has no figure: `reason` if it is short, or else the status; "" for an arm
        that can still run.
        """
        if self.status == "ok":
            return "no figure yet"
        return self.reason if 0 < len(self.reason) <= SHORT else self.status


class Ratio(msgspec.Struct, frozen=True):
    """The time of arm `a` divided by the time of arm `b`: the trimmed geometric mean of a / b over their
    common rounds.
    """

    a: str
    """An arm's id."""
    b: str
    """An arm's id."""
    ratio: float
    """Time of `a` divided by the time of `b`."""
    ci95: tuple[float, float]
    """The 95% interval of `ratio`."""
    paired: bool = True
    """True if computed from common rounds; False if the arms have no common rounds, so that the ratio
    compares the means of the arms.
    """


class PlacementRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One op of one arm and its placement."""

    arm: str
    node: str
    op: str
    kind: str
    device: str
    to: str
    memory: str
    dtype: str
    requested: str
    reason: str
    bytes: int
    count: int
    layer: str = ""
    """For a model, the layer of the op; "" otherwise."""


def placement_row(arm: str, node: Node) -> PlacementRow:
    # Use positional arguments, because a run may have 100,000 rows, and keyword arguments take ten times as
    # long.
    return PlacementRow(
        arm=arm,
        node=node.name,
        op=node.op,
        kind=node.kind,
        device=node.device,
        to=node.to,
        memory=node.memory,
        dtype=node.dtype,
        requested=node.requested,
        reason=node.reason,
        bytes=node.bytes,
        count=node.count,
        layer=node.layer,
    )


class PointArm(msgspec.Struct, frozen=True, kw_only=True):
    """One arm at one point of a sweep."""

    id: str
    median_s: float | None
    ci95_s: tuple[float, float] | None
    n: int
    status: Status
    reason: str = ""

    @property
    def half_width_s(self) -> float | None:
        return half_of(self.ci95_s)


class PointResult(msgspec.Struct, frozen=True):
    """One sweep point: its parameters, and each arm's figures."""

    values: dict[str, Value]
    arms: tuple[PointArm, ...]
    host: str = ""
    """The fleet node that measured the point."""
    finished: bool = True
    """False while the point is being measured, or if it was cut short. Sentences ignore unfinished points."""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """The size along the axis above which `a` is faster than `b`."""

    a: str
    """An arm's id."""
    b: str
    """An arm's id."""
    at: float | None
    """The crossover (the first, if `status` is `several`); None unless `status` is `found` or `several`."""
    ci95: tuple[float, float] | None
    """The 95% interval of `at`."""
    status: CrossoverStatus
    """`found`, `none`, `beyond`, `several` or `unknown`."""
    sentence: str = ""
    """The crossover in words."""
    where: dict[str, Value] = {}
    """Value of the second axis, in a two-axis sweep."""


class Diagnosis(Found, frozen=True):
    """What limits an arm, and the remedy."""

    message: str = msgspec.field(name="sentence")
    arm: str = ""
    """Id of the arm."""
    share: float = 0.0
    """Share of a call, 0 … 1; 0 if the diagnosis is not about a part of the call."""


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's slowdown while the run's other devices compute at the same time."""

    arm: str
    device: str
    alone_s: float
    together_s: float
    ratio: float
    """The arm's time while the other devices compute, divided by its time alone."""
    ci95: tuple[float, float]
    sentence: str


class EnvironmentRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One arm in two environments."""

    arm: str
    """The arm's label without the environment."""
    ratio: float
    """Time in the first environment divided by the time in the second, paired by round."""
    ci95: tuple[float, float] | None
    differs: bool
    """True if the two environments differ. The chance of any false report in the run is at most 5%."""


class EnvironmentPair(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of two environments that took turns: each arm's ratio, and other differences."""

    a: str
    """Name of the first environment."""
    b: str
    arms: tuple[EnvironmentRatio, ...]
    sentences: tuple[str, ...]
    """Sentences about ratios, changed ops, first calls and import times."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The object printed by `tuilab run --json`."""

    schema: int
    """Version of this format: `1`."""
    preset: str
    """Name of the preset; "" if none."""
    scenario: Scenario
    machine: MachineLine
    """The machine that started the run."""
    arms: tuple[ArmResult, ...]
    ratios: tuple[Ratio, ...]
    claims: tuple[Verdict, ...]
    placement: tuple[PlacementRow, ...]
    answer: str
    """The answer, in sentences."""
    budget: str
    """`quick`, `standard` or `publish`."""
    status: str
    """`running`, `ok`, `cancelled` or `failed`."""
    message: str
    run: str
    """The run's id."""
    at: str
    """Start time in UTC, ISO 8601."""
    elapsed_s: float
    """Total duration of the run's rounds, in seconds."""
    rounds: int
    flags: tuple[CaveatLine, ...]
    """Caveats about the whole run."""
    facts: dict[str, Value | float]
    """Observations other than time."""
    diagnosis: tuple[Diagnosis, ...] = ()
    """The bottlenecks of the arms, most severe first."""
    axis: tuple[str, ...] = ()
    """The swept parameters."""
    points: tuple[PointResult, ...] = ()
    """The points of a sweep."""
    crossover: Crossover | None = None
    """The main crossover."""
    crossovers: tuple[Crossover, ...] = ()
    machines: dict[str, MachineLine] = {}
    """The machine of each host, keyed by the host name in the arms ("" for this host)."""
    environments: tuple[EnvironmentPair, ...] = ()
    """Comparisons of the first environment with each other environment, if the run measured several."""
    contention: tuple[Contention, ...] = ()
    confidence: Confidence | None = None
    bounds: tuple[GpuBound, ...] = ()
    """Lower bounds on a call's time on a GPU that you do not have, compared with the fastest CPU arm;
    computed, not measured.
    """
    sweep_bound: SweepBound | None = None
    """The bounds at each point of a sweep."""
    model: ModelInfo | None = None
    """The content of a model file."""
    batch: BatchAnswer | None = None
    """The batch sizes to report, for a model with a variable batch size."""
    roofs: tuple[Roofs, ...] = ()
    """Roofs (hardware limits) of the machines that the run used, if known."""
