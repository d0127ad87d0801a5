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
"""Maximum characters of a reason that a table shows in place of a figure."""

CrossoverStatus = Literal["found", "none", "beyond", "several", "unknown"]


class MachineLine(msgspec.Struct, frozen=True, kw_only=True):
    """The main facts about a machine."""

    host: str
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    environment: str = ""
    """Folder of the Python environment that measured; "" for the lab's own environment."""
    settings: tuple[str, ...] = ()
    """The environment's settings, such as `TF_ENABLE_ONEDNN_OPTS=0`."""


class CaveatLine(Found, frozen=True, omit_defaults=True):
    """A doubt about a figure."""


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run's figures can be trusted, and why not."""

    half_width: float | None
    """Half of an arm's 95% interval divided by its median (0 … 1), the largest of all arms; None if an arm
    has no interval.
    """
    wanted: float | None
    """The half-width that the budget requires."""
    precise: bool
    """True if the half-width of every arm is at most `wanted`."""
    reasons: tuple[str, ...]
    """Short reasons to doubt the figures, such as `busy host`, most severe first."""
    badge: str
    """Precision and reasons in one line; "" if there is no doubt, or no data yet."""
    of: str = ""
    """The variation that the intervals include: `within this process and minute`, `over 5 processes, …`."""
    alike: str = ""
    """In a sentence, the range of medians from runs with the same settings on this machine; "" if there are
    too few runs.
    """


class Undisturbed(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's median over the rounds without load from other processes. The arm's own `median_s` covers
    all rounds.
    """

    median_s: float
    """Median seconds per call over the undisturbed rounds."""
    ci95_s: tuple[float, float]
    """The 95% interval of `median_s`."""
    n: int
    """Number of blocks in the undisturbed rounds."""
    sentence: str
    """A sentence that compares `median_s` with the median of all rounds."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one arm. Times are seconds per call; they are None if the arm did not run."""

    id: str
    """A stable id for scripts: `cpu0.graph.resident.float32`."""
    label: str
    """The arm's label for display, such as `CPU graph`."""
    requested_device: str
    """The requested device: `GPU:0`."""
    device: str | None
    """The device observed to compute; None if the arm did not run."""
    mode: Mode
    dtype: str
    input: Input
    variant: str
    host: str
    status: Status
    """`ok`, `unavailable`, `failed` or `cancelled`."""
    reason: str
    """Why the status is not `ok`; "" if it is."""
    median_s: float | None
    """Median seconds per call, over blocks of calls; for single calls, see `latency_s`."""
    ci95_s: tuple[float, float] | None
    """The 95% interval of the median."""
    n: int
    """Number of timed blocks."""
    latency_s: float | None
    """Median seconds of single synchronized calls."""
    first_call_s: float | None
    """Seconds of the first call, which includes tracing, optimizing and compiling."""
    second_call_s: float | None
    """Seconds of the second call."""
    phases_s: dict[str, float]
    """Seconds per call by phase, as in `account`. The phases add up to `median_s`."""
    flags: tuple[CaveatLine, ...]
    """Caveats about this arm."""
    account: Account | None = None
    """The phases with their intervals and sources; None if not measured."""
    examples_per_s: float | None = None
    """For a model, the batch divided by the median; None if the batch is fixed or there is no median."""
    roof: ArmRoof | None = None
    """The arm's rates compared with the roofs of its device; None if the work or the time is unknown."""
    undisturbed: Undisturbed | None = None
    """The figures of the undisturbed rounds; None if they equal `median_s` within the noise, or if too few
    rounds were undisturbed.
    """
    does: str = ""
    """What the arm's calls do, if different arms of the run do different work. Only arms that do the same
    work are compared.
    """

    @property
    def half_width_s(self) -> float | None:
        return half_of(self.ci95_s)

    @property
    def why_no_figure(self) -> str:
        """Why the arm has no figure, in at most `SHORT` characters."""
        if self.status == "ok":
            return "no figure yet"
        return self.reason if 0 < len(self.reason) <= SHORT else self.status


class Ratio(msgspec.Struct, frozen=True):
    """The time of arm `a` divided by the time of arm `b`: the trimmed geometric mean over their common
    rounds.
    """

    a: str
    """Id of the arm in the numerator."""
    b: str
    """Id of the arm in the denominator."""
    ratio: float
    """Time of `a` divided by the time of `b`."""
    ci95: tuple[float, float]
    """The 95% interval of `ratio`."""
    paired: bool = True
    """False if the arms have no common rounds, so that `ratio` is the ratio of their means."""


class PlacementRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One op of one arm, and its placement."""

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
    """The figures of one arm at one point of a sweep."""

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
    """One point of a sweep: its parameters, and the figures of each arm."""

    values: dict[str, Value]
    arms: tuple[PointArm, ...]
    host: str = ""
    """The fleet node that measured the point; "" without a fleet."""
    finished: bool = True
    """False while the point is being measured, or if its measurement was cut short. The answer ignores
    unfinished points.
    """
    ratios: tuple[Ratio, ...] = ()
    """For each pair of arms in the run's `crossovers`, the ratio of their times at this point."""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """The size along the axis above which `a` is faster than `b`."""

    a: str
    """Id of the arm that is faster above the crossover."""
    b: str
    """Id of the arm that is faster below the crossover."""
    at: float | None
    """The size at the crossover, or at the first of `several` crossovers; None if `status` is neither `found`
    nor `several`.
    """
    ci95: tuple[float, float] | None
    """The 95% interval of `at`."""
    status: CrossoverStatus
    """`found`, `several` (crossovers), `none`, `beyond` (perhaps at larger sizes than measured) or `unknown`.
    """
    sentence: str = ""
    """The result of the search for a crossover, in words."""
    where: dict[str, Value] = {}
    """The value of the second axis, in a sweep over two axes."""


class Diagnosis(Found, frozen=True):
    """What limits an arm, and how to speed it up."""

    message: str = msgspec.field(name="sentence")
    arm: str = ""
    """Id of the arm."""
    share: float = 0.0
    """Share of a call (0 … 1) that the limit takes; 0 if it is not a part of the call."""


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's slowdown while the run's other devices also compute."""

    arm: str
    device: str
    alone_s: float
    together_s: float
    ratio: float
    """The arm's time while the other devices compute, divided by its time alone."""
    ci95: tuple[float, float]
    sentence: str


class EnvironmentRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's times in two environments, compared."""

    arm: str
    """The arm's label without the environment."""
    ratio: float
    """The time in the first environment divided by the time in the second, paired by round."""
    ci95: tuple[float, float] | None
    differs: bool
    """True if the environments differ significantly. The chance that a run reports any false difference is
    at most 5%.
    """


class EnvironmentPair(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison of two environments that were measured in turns."""

    a: str
    """Name of the first environment."""
    b: str
    arms: tuple[EnvironmentRatio, ...]
    sentences: tuple[str, ...]
    """Sentences about the ratios, changed ops, first calls and import times."""


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
    """The main results of the run, in sentences."""
    budget: str
    """Name of the budget: `quick`, `standard` or `publish`."""
    status: str
    """`running`, `ok`, `cancelled` or `failed`."""
    message: str
    run: str
    """The run's id."""
    at: str
    """Start time in UTC, ISO 8601."""
    elapsed_s: float
    """Seconds that the run's rounds took."""
    rounds: int
    flags: tuple[CaveatLine, ...]
    """Caveats about the whole run."""
    facts: dict[str, Value | float]
    """Observations other than times, by name."""
    diagnosis: tuple[Diagnosis, ...] = ()
    """The bottlenecks of the arms, most severe first."""
    axis: tuple[str, ...] = ()
    """The swept parameters."""
    points: tuple[PointResult, ...] = ()
    """The results at each point of a sweep."""
    crossover: Crossover | None = None
    """The first entry of `crossovers`; None if that list is empty."""
    crossovers: tuple[Crossover, ...] = ()
    machines: dict[str, MachineLine] = {}
    """The machine of each host, by the host's name in the arms ("" for this host)."""
    environments: tuple[EnvironmentPair, ...] = ()
    """If the run measured several environments: comparisons of the first environment with each other
    environment.
    """
    contention: tuple[Contention, ...] = ()
    confidence: Confidence | None = None
    bounds: tuple[GpuBound, ...] = ()
    """Lower bounds on a call's time on a GPU that you do not have, with the time of the fastest CPU arm.
    Computed, not measured.
    """
    sweep_bound: SweepBound | None = None
    """The lower bounds at each point of a sweep."""
    model: ModelInfo | None = None
    """The content of the measured model file."""
    batch: BatchAnswer | None = None
    """The recommended batch sizes, for a model with a variable batch size."""
    roofs: tuple[Roofs, ...] = ()
    """Roofs (hardware limits) of the machines that measured, if known."""
