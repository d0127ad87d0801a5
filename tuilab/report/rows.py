"""What every report shows, as plain rows of text; each format only dresses them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tuilab.analysis.words import listed, percent
from tuilab.model.arms import LOCAL, family
from tuilab.model.quantity import interval, median_of, rate, seconds, share_words
from tuilab.model.result import ArmResult, Diagnosis, MachineLine, RunResult
from tuilab.model.verdicts import VERDICTS

CLAIM_HEAD = ["verdict", "claim", "evidence"]
ARM_HEAD = ["arm", "median", "95 % interval", "n", "first call", "device"]


def arm_row(arm: ArmResult) -> list[str]:
    """An arm's figures, with no more digits than the interval allows; or why there are none."""
    if arm.median_s is None:
        why = f"{arm.status}: {arm.reason}" if arm.reason else arm.status
        return [arm.label, why, "", "", "", arm.device or ""]
    between = interval(*arm.ci95_s, like=arm.median_s) if arm.ci95_s else "–"
    first = seconds(arm.first_call_s) if arm.first_call_s is not None else ""
    return [
        arm.label,
        median_of(arm.median_s, arm.half_width_s),
        between,
        str(arm.n),
        first,
        arm.device or "",
    ]


def folded(arms: Sequence[ArmResult], *, going: bool = False) -> list[ArmResult]:
    """The arms with a figure, then one for all that lack it for one reason, named for all of them.

    going: the run goes on, so that only what cannot run at all is folded: the others still get figures.
    """
    absent: dict[tuple[str, str], list[ArmResult]] = {}
    for arm in arms:
        if arm.median_s is None and (arm.status == "unavailable" or not going):
            absent.setdefault((arm.status, arm.reason), []).append(arm)
    out = [arm for arm in arms if arm.median_s is not None or (going and arm.status != "unavailable")]
    return out + [replace(alike[0], label=_together(alike)) for alike in absent.values()]


def to_fastest(result: RunResult) -> dict[str, tuple[float, tuple[float, float] | None]]:
    """How many times as long as the fastest each other measured arm takes, by its id; with its interval."""
    timed = sorted((arm.median_s, arm.id) for arm in result.arms if arm.median_s is not None)
    if not timed:
        return {}
    least, fastest = timed[0]
    known = {(each.a, each.b): (each.ratio, each.ci95) for each in result.ratios}
    # Where the fastest of all is not shown, two may have been compared the other way round, or not at all.
    turned = {(b, a): (1 / ratio, (1 / high, 1 / low)) for (a, b), (ratio, (low, high)) in known.items()}
    both = {**turned, **known}
    return {arm: both.get((arm, fastest), (median / least, None)) for median, arm in timed[1:]}


def arm_rows(result: RunResult) -> list[list[str]]:
    """The measured arms, then those without a figure: alike ones of a reason in one row."""
    return [arm_row(arm) for arm in folded(result.arms)]


MOST_APART = 2
"""So many arms that did not run for one reason are named; more are counted."""


def _together(arms: list[ArmResult]) -> str:
    """`GPU graph`, `GPU graph, GPU xla`, `6 GPU arms`."""
    if len(arms) <= MOST_APART:
        return ", ".join(arm.label for arm in arms)
    kinds = {family(arm.requested_device) for arm in arms}
    return f"{len(arms)} {kinds.pop() if len(kinds) == 1 else ''} arms".replace("  ", " ")


def sweep_rows(result: RunResult) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of a sweep's table: the point's parameters, then each arm's median."""
    labels = {arm.id: arm.label for arm in result.arms}
    rows = []
    for point in result.points:
        medians = {
            arm.id: (arm.median_s, (arm.ci95_s[1] - arm.ci95_s[0]) / 2 if arm.ci95_s else None)
            for arm in point.arms
            if arm.median_s is not None
        }
        times = [median_of(*m) if (m := medians.get(arm)) is not None else "–" for arm in labels]
        rows.append([*(str(point.values.get(name, "")) for name in result.axis), *times])
    return [*result.axis, *labels.values()], rows


def crossing_lines(result: RunResult) -> list[str]:
    """Where a sweep's arms cross, those found first; after the first, where a GPU not here could at best."""
    lines = [c.sentence for c in sorted(result.crossovers, key=lambda c: c.at is None) if c.sentence]
    if result.sweep_bound is not None and result.roofs:
        lines.insert(1, result.sweep_bound.sentence)
    return lines


ROOF_HEAD = ["arm", "arithmetic", "bytes", "of the roof", "roof", "bound by"]


def roof_rows(result: RunResult) -> list[list[str]]:
    """Each measured arm against its device's roof; none where no arm's work or roof is known."""
    rows = []
    for arm in result.arms:
        roof = arm.roof
        if roof is None:
            continue
        done = rate(roof.flop_per_s, "FLOP/s") if roof.flop_per_s else "–"
        moved = rate(roof.bytes_per_s, "B/s") if roof.bytes_per_s else "–"
        share = share_words(roof.share) if roof.share is not None else "–"
        rows.append([arm.label, done, moved, share, roof.roof or "–", roof.bound_by])
    return rows if any(row[4] != "–" for row in rows) else []


def phase_lines(result: RunResult) -> list[str]:
    """Where each arm's call goes, or why its phases are not given; none where none were measured."""
    found = []
    for arm in result.arms:
        if arm.phases_note:
            found.append(f"Phases of {arm.label} {arm.phases_note}.")
        elif arm.phases_s and arm.total_s:
            found.append(f"Phases of {phase_line(arm)}")
    return found


def claim_rows(result: RunResult) -> list[tuple[str, str, str]]:
    """Verdict with its mark, claim, evidence."""
    return [(f"{VERDICTS[c.verdict].mark} {c.verdict}", c.text, c.evidence) for c in result.claims]


@dataclass(frozen=True)
class Section:
    """A part of a whole report: a table, lines, or a table with lines below it."""

    title: str
    lines: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def sections(result: RunResult) -> list[Section]:
    """What a whole report says below the arms' figures, without what the run does not have."""
    every = [
        Section("Sweep", crossing_lines(result), *sweep_rows(result)),
        Section("Against the roof", (), ROOF_HEAD, roof_rows(result)),
        Section("Where a call's time goes", phase_lines(result)),
        Section("What to do", advice(result)),
        Section("Claims", (), CLAIM_HEAD, claim_rows(result)),
        Section("Doubts", doubts(result)),
    ]
    return [section for section in every if section.rows or section.lines]


def advice(result: RunResult) -> list[str]:
    """What holds the arms back and what to do about it, the gravest first; alike arms in one sentence."""
    labels = {arm.id: arm.label for arm in result.arms}
    groups: dict[tuple[str, ...], list[Diagnosis]] = {}
    for found in result.diagnosis:
        # Where a finding is no share of a call, its figures are in its sentence, which each arm keeps.
        alike = found.share and found.arm in labels
        groups.setdefault((found.code, found.remedy, "" if alike else found.sentence), []).append(found)
    out = []
    for first, *others in groups.values():
        also = listed([f"{labels[other.arm]} ({percent(other.share)})" for other in others])
        out.append(f"{first.sentence} {f'Likewise {also}. ' if also else ''}{first.remedy}".strip())
    return out


def doubts(result: RunResult) -> list[str]:
    """Every flag in words, those about one arm with its name."""
    own = [f"{arm.label}: {flag.message}" for arm in result.arms for flag in arm.flags]
    return [flag.message for flag in result.flags] + own


def provenance(result: RunResult) -> list[str]:
    """How and where it was measured: a sentence for the work, one for each machine, one for the run."""
    values = ", ".join(f"{name} = {value}" for name, value in result.scenario.parameters.items())
    return [
        f"Workload {result.scenario.workload}: {values}.",
        *(machine_lines(result) or [machine_sentence(result.machine)]),
        f"{result.at}, budget {result.budget}, {result.rounds} rounds in {result.elapsed_s:.1f} s; "
        f"run {result.run}.",
    ]


def machine_lines(result: RunResult) -> list[str]:
    """A sentence for each machine under its host's name; empty where this machine alone measured."""
    if set(result.machines) <= {""}:
        return []
    return [f"{host or LOCAL}: {machine_sentence(line)}" for host, line in result.machines.items()]


def machine_sentence(machine: MachineLine) -> str:
    """`gpu07, AMD EPYC 9554, NVIDIA H200; TensorFlow 2.21.0, Python 3.11.2.`"""
    gpus = ", ".join(machine.gpus) or "no GPU visible"
    return f"{machine.host}, {machine.cpu}, {gpus}; TensorFlow {machine.tensorflow}, Python {machine.python}."


def interval_line(result: RunResult) -> str:
    """What the intervals are of, in a sentence; "" where there is none."""
    of = result.confidence.of if result.confidence else ""
    return f"Each 95 % interval is one {of}." if of else ""


REST = "remainder"
APART = 0.02
"""From this share on, a total and Live's median are seen to differ."""
LEAST_OVERLAP = 0.001
"""Of a call: what its phases overlap by less is a rounding error of their sum."""


def phases_length(arm: ArmResult) -> float:
    """Seconds that its phases are shares of: the total, or their sum where that is more."""
    return max(arm.total_s or 0.0, sum(arm.phases_s.values()))


def phase_parts(arm: ArmResult) -> dict[str, float]:
    """Seconds of each phase that takes any, and what they leave of the total."""
    parts = {name: part for name, part in arm.phases_s.items() if part}
    rest = (arm.total_s or 0.0) - sum(parts.values())
    return {**parts, REST: rest} if rest > 0 else parts


def no_phases(arm: ArmResult) -> str:
    """Why there are none of that arm."""
    return arm.reason or arm.phases_note or (arm.status if arm.status != "ok" else "no phases measured")


def phase_line(arm: ArmResult) -> str:
    """`CPU graph: 483 µs = dispatch 110 µs ± 4 µs (23 %) + compute 360 µs (75 %) + remainder 13 µs (2 %)`.

    Each with its interval's half-width, where it was timed call by call.
    """
    if arm.total_s is None or not arm.phases_s:
        return f"{arm.label}: {no_phases(arm)}"
    halves = {name: _give_or_take(ends) for name, ends in arm.phases_ci95_s.items()}
    length = phases_length(arm)
    each = [
        f"{name.replace('_', ' ')} {seconds(part)}{halves.get(name, '')} ({100 * part / length:.0f} %)"
        for name, part in phase_parts(arm).items()
    ]
    # Sums of phases that fill the call leave a rounding error, which is no overlap.
    over = length - arm.total_s
    overlap = f" − {seconds(over)} that overlap" if over > LEAST_OVERLAP * length else ""
    return f"{arm.label}: {seconds(arm.total_s)}{halves.get('total', '')} = {' + '.join(each)}{overlap}"


def beside_live(arms: Iterable[ArmResult]) -> str:
    """Why a total is not the median that Live shows, for the first that is not; "" where all agree."""
    for arm in arms:
        if arm.phases_s and arm.total_s and arm.median_s and abs(arm.total_s / arm.median_s - 1) > APART:
            return f"Calls timed one by one; in Live's blocks {arm.label} takes {median_of(arm.median_s)}."
    return ""


def _give_or_take(interval: tuple[float, float]) -> str:
    half = (interval[1] - interval[0]) / 2
    return f" ± {seconds(half, half)}" if half else ""


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of text as columns, those that are empty left out."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        yield ("  " + "  ".join(cells)).rstrip()
