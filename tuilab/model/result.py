"""A run's result as scripts read it: the fields of `tuilab run --json`."""

from typing import Literal

import msgspec

from tuilab.model.account import Account
from tuilab.model.arms import Input, Mode
from tuilab.model.claims import Verdict
from tuilab.model.events import Node, Status
from tuilab.model.models import BatchAnswer, ModelInfo
from tuilab.model.parameters import Value
from tuilab.model.quantity import half_of
from tuilab.model.roofline import ArmRoof, GpuBound, Roofs, SweepBound
from tuilab.model.scenario import Scenario

SCHEMA = 1
SHORT = 18
"""Characters of a reason that stands in place of a figure."""

Severity = Literal["high", "moderate", "info"]
CrossoverStatus = Literal["found", "none", "beyond", "several", "unknown"]


class MachineLine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine in a few fields."""

    host: str
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    environment: str = ""
    """The folder of the environment whose Python measured, "" for the lab's own."""
    settings: tuple[str, ...] = ()
    """What was set for it: `TF_ENABLE_ONEDNN_OPTS=0`."""


class CaveatLine(msgspec.Struct, frozen=True):
    """A doubt about a figure: a stable code and a sentence."""

    code: str
    """Stable, for scripts."""
    message: str
    """A sentence with the numbers."""


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """How far the figures can be trusted, at the point that they are given for."""

    half_width: float | None
    """Of the widest 95% interval, over its median (0 … 1); None if an arm has none."""
    wanted: float | None
    """What the budget asked for, likewise."""
    precise: bool
    """Whether every arm reached it."""
    reasons: tuple[str, ...]
    """What makes the figures doubtful, two words each, the most severe first."""
    badge: str
    """Both in one line, "" where nothing is to be doubted or nothing was measured yet."""
    of: str = ""
    """What the intervals are of: `within this process and minute`, `over 5 processes, …`."""
    alike: str = ""
    """What runs of the same settings came to on this machine, in a sentence; "" where there are too few."""


class Undisturbed(msgspec.Struct, frozen=True, kw_only=True):
    """An arm's pace in those rounds in which nobody else was at work; `median_s` has all rounds."""

    median_s: float
    """Seconds per call."""
    ci95_s: tuple[float, float]
    """Its 95% interval."""
    n: int
    """How many of the arm's blocks."""
    sentence: str
    """Both figures."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's figures. Times are seconds per call; None if it did not run."""

    id: str
    """`cpu0.graph.resident.float32`, for scripts."""
    label: str
    """For people."""
    requested_device: str
    """`GPU:0`."""
    device: str | None
    """Observed; None if it did not run."""
    mode: Mode
    dtype: str
    input: Input
    variant: str
    host: str
    status: Status
    """`ok`, `unavailable`, `failed` or `cancelled`."""
    reason: str
    """Why it is not `ok`."""
    median_s: float | None
    """Of blocks (throughput)."""
    ci95_s: tuple[float, float] | None
    """The 95% interval of the median."""
    n: int
    """How many blocks."""
    latency_s: float | None
    """Median of single synchronised calls."""
    first_call_s: float | None
    """Trace, optimise, compile and run."""
    second_call_s: float | None
    """Seconds."""
    phases_s: dict[str, float]
    """Seconds per call by phase, as in `account`: they add up to `median_s`."""
    flags: tuple[CaveatLine, ...]
    """Caveats."""
    account: Account | None = None
    """The same with intervals, and where each part is known from; None if it was not looked for."""
    examples_per_s: float | None = None
    """Of a model: the batch over the median; None if the batch is not open or there is no figure."""
    roof: ArmRoof | None = None
    """Against its device's roof; None if its work or the figure is not known."""
    undisturbed: Undisturbed | None = None
    """None if it does not differ from `median_s`, or too few rounds were undisturbed to tell."""
    does: str = ""
    """What its calls do, where the run's arms do different things; only what does the same is compared."""

    @property
    def half_width_s(self) -> float | None:
        """Return half the length of the median's 95% interval."""
        return half_of(self.ci95_s)

    @property
    def why_no_figure(self) -> str:
        """Its reason if that is short, else its status; one that can run has none yet."""
        if self.status == "ok":
            return "no figure yet"
        return self.reason if 0 < len(self.reason) <= SHORT else self.status


class Ratio(msgspec.Struct, frozen=True):
    """How many times `b`'s time `a` takes: the trimmed geometric mean of a / b over the rounds of both."""

    a: str
    """An arm's id."""
    b: str
    """An arm's id."""
    ratio: float
    """a's time over b's."""
    ci95: tuple[float, float]
    """Its 95% interval."""
    paired: bool = True
    """It is of rounds that both have; false: of the means of each one's rounds, where the two share none."""


class PlacementRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One op of one arm as it was placed."""

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
    """Of a model's graph, whose op it is; "" elsewhere."""


def placement_row(arm: str, node: Node) -> PlacementRow:
    """Return an op of the arm of that id, as it was placed."""
    # Field by field: a run may have 100,000 of them, and by their names it takes ten times as long.
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
        """Return half the length of the median's 95% interval."""
        return half_of(self.ci95_s)


class PointResult(msgspec.Struct, frozen=True):
    """One point of a sweep: its parameters, and each arm there."""

    values: dict[str, Value]
    arms: tuple[PointArm, ...]
    host: str = ""
    """The node of a fleet that measured."""
    finished: bool = True
    """False if the point is under way, or was cut short: no sentence speaks of it."""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """Where `a` overtakes `b` along the axis: from there on `a` is the faster."""

    a: str
    """An arm's id."""
    b: str
    """An arm's id."""
    at: float | None
    """None unless `status` is found or several (then the first)."""
    ci95: tuple[float, float] | None
    """The 95% interval of `at`."""
    status: CrossoverStatus
    """`found`, `none`, `beyond`, `several` or `unknown`."""
    sentence: str = ""
    """The same in words."""
    where: dict[str, Value] = {}
    """The second axis's value, in a sweep along two."""


class Diagnosis(msgspec.Struct, frozen=True):
    """A finding: a stable code, how much it matters, the sentence with its numbers, and what to do."""

    code: str
    severity: Severity
    sentence: str
    remedy: str
    arm: str = ""
    """The id of the arm that it is about."""
    share: float = 0.0
    """Of a call, 0 … 1; 0 if it is about something else."""


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """What an arm loses while the run's other devices measure too."""

    arm: str
    device: str
    alone_s: float
    together_s: float
    ratio: float
    """Its time then over that alone."""
    ci95: tuple[float, float]
    sentence: str


class EnvironmentRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One arm in two environments."""

    arm: str
    """Its label without the environment."""
    ratio: float
    """The first's time over the second's, round by round."""
    ci95: tuple[float, float] | None
    differs: bool
    """A difference is claimed: of all arms together, it is chance in one run of twenty at most."""


class EnvironmentPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two environments that measured by turns: which is faster at what, and what else differs."""

    a: str
    """The first's name."""
    b: str
    arms: tuple[EnvironmentRatio, ...]
    sentences: tuple[str, ...]
    """Ratios, ops that moved, came or went, first calls, import times."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The object that `tuilab run --json` prints."""

    schema: int
    """`1`."""
    preset: str
    """Its name, "" for none."""
    scenario: Scenario
    machine: MachineLine
    """Where the run began."""
    arms: tuple[ArmResult, ...]
    ratios: tuple[Ratio, ...]
    claims: tuple[Verdict, ...]
    placement: tuple[PlacementRow, ...]
    answer: str
    """In sentences."""
    budget: str
    """`quick`, `standard` or `publish`."""
    status: str
    """`running`, `ok`, `cancelled` or `failed`."""
    message: str
    run: str
    """The run's id."""
    at: str
    """UTC, ISO 8601."""
    elapsed_s: float
    """Seconds of its rounds."""
    rounds: int
    flags: tuple[CaveatLine, ...]
    """Caveats of the whole run."""
    facts: dict[str, Value | float]
    """What workloads observed alongside time."""
    diagnosis: tuple[Diagnosis, ...] = ()
    """What holds the arms back, the most severe first."""
    axis: tuple[str, ...] = ()
    """The parameters swept."""
    points: tuple[PointResult, ...] = ()
    """Of a sweep."""
    crossover: Crossover | None = None
    """The foremost one."""
    crossovers: tuple[Crossover, ...] = ()
    machines: dict[str, MachineLine] = {}
    """Each host's, by the name that its arms give it ("" for here)."""
    environments: tuple[EnvironmentPair, ...] = ()
    """Of environments that measured by turns: the first against each of the others."""
    contention: tuple[Contention, ...] = ()
    confidence: Confidence | None = None
    bounds: tuple[GpuBound, ...] = ()
    """The least times on a GPU that is not here, alongside the fastest CPU arm; no measurement."""
    sweep_bound: SweepBound | None = None
    """The same along a sweep."""
    model: ModelInfo | None = None
    """Of a model's file, what it holds."""
    batch: BatchAnswer | None = None
    """Of a model with an open batch."""
    roofs: tuple[Roofs, ...] = ()
    """Of the machines that measured, where they are known."""
