"""Checks the sentences about a run on an emulated GPU against the configured speed.

A kernel takes at least `kernel_s`, so the number of ops that an arm runs on the GPU determines its minimum
computing time. The parts of an account do not overlap, so no other part may contain this time.
"""

import re
import statistics
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.contradictions.collected import ADVICE, GROUPS, contradictions
from tuilab.analysis.account import largest
from tuilab.analysis.reading import elsewhere, measured, name_of, nodes_at, retraced, summary_point
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import timed
from tuilab.model.arms import family
from tuilab.model.claims import Claim, Faster, PhaseShare, Verdict, WaitsForInput
from tuilab.model.events import copies_of
from tuilab.model.result import RunResult
from tuilab.model.run import ArmState, RunState

NOISE = 0.15
"""Maximum error of a sentence, as a share of a call. Large, because the runs are short."""
MOSTLY = 0.6
"""If a GPU computes for at least this share of a call, computing must be the call's largest part."""
LABELLED = r"(?P<{}>[^:,.;]+?)"
TOOK = re.compile(
    rf"^(?:At [^:]*: )?{LABELLED.format('a')} took [^:]*?, {LABELLED.format('b')} [\d.,]+ (?:ns|µs|ms|s)(?: \[[^]]*\])?: "
    r"[\d.,]+× (?P<word>faster|slower)(?: \[(?P<low>[\d.]+) (?P<high>[\d.]+)\], which may (?P<noise>be noise))?"
)


@cache
def emulated_ops() -> frozenset[str]:
    """Return the types of the ops whose kernels take the configured time."""
    table = (Path(__file__).parent / "device/kernels.txt").read_text()
    return frozenset(line.split(" | ")[0] for line in table.splitlines()) | {"Digamma"}


def seconds(arm: ArmState, point: int) -> float:
    return statistics.median(arm.cells[point].samples)


def computing(arm: ArmState, point: int, kernel_s: float) -> float:
    """Return the minimum share of a call during which the arm's kernels run."""
    kernels = sum(
        node.count
        for node in nodes_at(arm, point)
        if node.kind == "op" and node.device.startswith("GPU") and node.op in emulated_ops()
    )
    return kernels * kernel_s / seconds(arm, point)


def untrue(state: RunState, claims: Sequence[Claim], kernel_s: float) -> list[str]:
    """Return the sentences that contradict the configured speed or another sentence."""
    result, point = summarise(state, claims), summary_point(state)
    arms = measured_by_id(state, point)
    out = [*contradictions(state, claims), *order(result, arms, point)]
    for arm in arms.values():
        if family(arm.arm.device) == "GPU" and not elsewhere(arm, point) and nodes_at(arm, point):
            out += [f"{arm.label}: {said}" for said in _parts(result, arm, point, kernel_s)]
    for claim, verdict in zip(claims, result.claims, strict=True):
        out += _verdict(state, claim, verdict, point, kernel_s)
    return [*out, *_sweep(result)]


def measured_by_id(state: RunState, point: int) -> dict[str, ArmState]:
    return {arm.arm.id: arm for arm in measured(state, point)}


def order(result: RunResult, arms: dict[str, ArmState], point: int) -> Iterator[str]:
    """Yield an error for each arm that is wrongly called the fastest, or wrongly called slower than another
    arm.
    """
    for arm in arms.values():
        name = re.escape(name_of(arm, point))
        alike = [
            seconds(other, point)
            for other in arms.values()
            if not retraced(other, point) and _does(result, other) == _does(result, arm)
        ]
        ahead = re.search(rf"(?:^|[.:] ){name} is fastest(?! of)", result.answer, re.IGNORECASE)
        if ahead and seconds(arm, point) > 1.05 * min(alike):
            yield f"{arm.label} is not the fastest: {result.answer!r}"
        behind = re.search(rf"(?:^|[.:] ){name} [\d.,]+ \S+ \[[^]]*\], [\d.,]+× slower", result.answer)
        if behind and seconds(arm, point) <= min(alike):
            yield f"{arm.label} is the fastest: {result.answer!r}"


def _does(result: RunResult, arm: ArmState) -> str:
    return next((each.does for each in result.arms if each.id == arm.arm.id), "")


def _parts(result: RunResult, arm: ArmState, point: int, kernel_s: float) -> Iterator[str]:
    """Yield an error if the largest part, a share in the advice, or the cause of a stall is wrong."""
    least, nodes = computing(arm, point, kernel_s), nodes_at(arm, point)
    row = next(each for each in result.arms if each.id == arm.arm.id)
    if row.account is not None and row.account.share("not_known") < NOISE:
        busy = [part for part in row.account.parts if part.phase in ("compute", "stall")]
        most = sum(part.ci95_s[1] if part.ci95_s else part.seconds for part in busy) / row.account.total_s
        if most < min(1.0, least) - NOISE:
            yield f"computes for at most {most:.0%}, at least {least:.0%} by its pace"
        if least > MOSTLY and largest(row.account) != "compute":
            yield f"{largest(row.account)} is called its largest part, its kernels take {least:.0%}"
        if row.roof is not None and least > MOSTLY and "compute" not in GROUPS.get(row.roof.bound_by, ()):
            yield f"{row.roof.sentence!r}, its kernels take {least:.0%}"
    host = {node.op for node in nodes if node.on_host}
    for found in result.diagnosis:
        if found.arm != arm.arm.id:
            continue
        if found.code in ADVICE and found.code != "stalled" and found.share + least > 1 + NOISE:
            yield f"{found.message!r}, its kernels take {least:.0%}"
        if found.code == "stalled":
            named = re.search(r"ops on the CPU \(([^)]*)\)", found.message)
            ops = set(re.split(r", | and ", named[1])) if named else set()
            if not ops <= host or not (ops or copies_of(nodes)):
                yield f"{found.message!r}, on the host are {sorted(host)}"
        if found.code == "host-ops" and not host:
            yield f"{found.message!r}, nothing is on the host"


def _verdict(state: RunState, claim: Claim, verdict: Verdict, point: int, kernel_s: float) -> Iterator[str]:
    labels = {arm.label: arm for arm in measured(state, point)}
    said = TOOK.match(verdict.evidence)
    if said and said["a"] in labels and said["b"] in labels:
        a, b = (seconds(labels[said[side]], point) for side in "ab")
        if said["noise"]:  # within the noise, the sentence gives an interval instead of a direction
            between = sorted(float(said[end]) for end in ("low", "high"))
            ratio = b / a if said["word"] == "faster" else a / b
            wrong = not 0.95 * between[0] <= ratio <= 1.05 * between[1]
        else:
            wrong = (a < b) != (said["word"] == "faster") and max(a / b, b / a) > 1.05
        if wrong:
            yield f"{verdict.evidence!r}: {a} against {b}"
        if isinstance(claim.when, Faster):
            by = claim.when.by
            if (verdict.verdict == "confirmed" and b / a < 0.95 * by) or (
                verdict.verdict == "refuted" and b / a > 1.05 * by
            ):
                yield f"{verdict.verdict}: {verdict.evidence!r}: {b / a:.2f}×, claimed {by}"
    if isinstance(claim.when, PhaseShare | WaitsForInput) and verdict.verdict == "confirmed":
        for arm in timed(state, claim.when.arms, point):
            if (
                family(arm.arm.device) == "GPU"
                and claim.when.share + computing(arm, point, kernel_s) > 1 + NOISE
            ):
                yield f"{verdict.evidence!r}: the kernels of {arm.label} leave no such share"


def _sweep(result: RunResult) -> Iterator[str]:
    """Yield an error if a crossover or its interval is outside the sizes at which both arms were measured."""
    for found in result.crossovers:
        sizes = [
            point.values[result.axis[0]]
            for point in result.points
            if all(
                any(c.id == arm and c.median_s is not None for c in point.arms) for arm in (found.a, found.b)
            )
            and all(point.values.get(name) == value for name, value in found.where.items())
        ]
        known = [size for size in sizes if isinstance(size, int)]
        if found.at is not None and not min(known) <= found.at <= max(known):
            yield f"{found.sentence!r}: measured from {min(known)} to {max(known)}"
        if found.ci95 is not None and not min(known) <= found.ci95[0] <= found.ci95[1] <= max(known):
            yield f"{found.sentence!r}: measured from {min(known)} to {max(known)}"
