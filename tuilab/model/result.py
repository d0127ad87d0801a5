"""A run's result as scripts read it: the fields of `tuilab run --json`."""

from typing import Literal

import msgspec

from tuilab.model.arms import Input, Mode
from tuilab.model.claims import Verdict
from tuilab.model.events import Node, Status
from tuilab.model.parameters import Value
from tuilab.model.scenario import Scenario

SCHEMA = 1

Severity = Literal["high", "moderate", "info"]
CrossoverStatus = Literal["found", "none", "beyond", "several", "unknown"]


class MachineLine(msgspec.Struct, frozen=True, kw_only=True):
    """The machine in five fields."""

    host: str
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str


class CaveatLine(msgspec.Struct, frozen=True):
    """A doubt about a figure: a stable code and a sentence."""

    code: str
    message: str


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """How far the figures can be trusted, at the point that they are given for."""

    half_width: float | None
    """Of the widest 95 % interval, over its median (0 … 1); null where an arm has none."""
    wanted: float | None
    """What the budget asked for, likewise."""
    precise: bool
    """Whether every arm reached it."""
    reasons: tuple[str, ...]
    """What makes the figures doubtful, two words each, the gravest first."""
    badge: str
    """Both in one line, "" where nothing is to be doubted or nothing was measured yet."""


class ArmResult(msgspec.Struct, frozen=True, kw_only=True):
    """One arm's figures. Times are seconds per call; null where it did not run.

    median_s, ci95_s, n: of blocks (throughput). latency_s: median of single synchronised calls.
    """

    id: str
    label: str
    requested_device: str
    device: str | None
    mode: Mode
    dtype: str
    input: Input
    variant: str
    host: str
    status: Status
    reason: str
    median_s: float | None
    ci95_s: tuple[float, float] | None
    n: int
    latency_s: float | None
    first_call_s: float | None
    second_call_s: float | None
    phases_s: dict[str, float]
    total_s: float | None
    residual_s: float | None
    flags: tuple[CaveatLine, ...]


class Ratio(msgspec.Struct, frozen=True):
    """How many times `b`'s time `a` takes: the trimmed geometric mean of a / b over the rounds of both."""

    a: str
    b: str
    ratio: float
    ci95: tuple[float, float]


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


def placement_row(arm: str, node: Node) -> PlacementRow:
    """An op of the arm of that id, as it was placed."""
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
    )


class PointArm(msgspec.Struct, frozen=True, kw_only=True):
    """One arm at one point of a sweep."""

    id: str
    median_s: float | None
    ci95_s: tuple[float, float] | None
    n: int
    status: Status
    reason: str = ""


class PointResult(msgspec.Struct, frozen=True):
    """One point of a sweep: its parameters, and each arm there. host: the node of a fleet that measured."""

    values: dict[str, Value]
    arms: tuple[PointArm, ...]
    host: str = ""


class Crossover(msgspec.Struct, frozen=True, kw_only=True):
    """Where `a` overtakes `b` along the axis: from there on `a` is the faster.

    at: null unless `status` is found or several (then the first). sentence: the same in words.
    where: the second axis's value, in a sweep along two.
    """

    a: str
    b: str
    at: float | None
    ci95: tuple[float, float] | None
    status: CrossoverStatus
    sentence: str = ""
    where: dict[str, Value] = {}


class Diagnosis(msgspec.Struct, frozen=True):
    """A finding: a stable code, how much it matters, the sentence with its numbers, and what to do.

    arm: the id of the arm that it is about. share: of a call, 0 … 1; 0 where it is about something else.
    """

    code: str
    severity: Severity
    sentence: str
    remedy: str
    arm: str = ""
    share: float = 0.0


class Contention(msgspec.Struct, frozen=True, kw_only=True):
    """What an arm loses while the run's other devices measure too. ratio: its time then over that alone."""

    arm: str
    device: str
    alone_s: float
    together_s: float
    ratio: float
    ci95: tuple[float, float]
    sentence: str


class RunResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The object that `tuilab run --json` prints.

    machine: where the run began; machines: each host's, by the name that its arms give it ("" for here).
    """

    schema: int
    preset: str
    scenario: Scenario
    machine: MachineLine
    arms: tuple[ArmResult, ...]
    ratios: tuple[Ratio, ...]
    claims: tuple[Verdict, ...]
    placement: tuple[PlacementRow, ...]
    answer: str
    budget: str
    status: str
    message: str
    run: str
    at: str
    elapsed_s: float
    rounds: int
    flags: tuple[CaveatLine, ...]
    facts: dict[str, Value | float]
    diagnosis: tuple[Diagnosis, ...] = ()
    axis: tuple[str, ...] = ()
    points: tuple[PointResult, ...] = ()
    crossover: Crossover | None = None
    crossovers: tuple[Crossover, ...] = ()
    machines: dict[str, MachineLine] = {}
    contention: tuple[Contention, ...] = ()
    confidence: Confidence | None = None
