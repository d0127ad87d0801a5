"""Collects every statement about an arm's time, its work or a claim, and finds contradictions."""

import html
import json
import math
import re
from collections.abc import Iterator, Sequence

import msgspec

from tuilab.analysis.diagnosis import ALL
from tuilab.analysis.reading import launches, summary_point
from tuilab.analysis.summary import summarise
from tuilab.analysis.words import percent
from tuilab.model.account import NOT_KNOWN, PHASE_WORDS
from tuilab.model.claims import Claim
from tuilab.model.events import ops_of
from tuilab.model.quantity import median_of, rate, share_words
from tuilab.model.result import ArmResult, RunResult
from tuilab.model.roofline import binding
from tuilab.model.run import RunState
from tuilab.presentation.timeline import summary_lines
from tuilab.report.formats import FORMATS
from tuilab.report.roofline import roofline_chart
from tuilab.report.rows import arm_row, claim_rows, phase_line, roof_rows, to_fastest
from tuilab.report.text import table

GROUPS = {
    "launches": ("dispatch",),
    "copies": ("copy_in", "copy_out", "copy"),
    "input": ("input_wait",),
    "stalls": ("stall",),
    "not known": (NOT_KNOWN,),
    "compute": ("compute",),
    "arithmetic": ("compute",),
    "memory": ("compute",),
}
"""For each kind of bound, the phases that it limits. Omits Python and a workload's own phases."""

ADVICE = {
    "dispatch-bound": ("dispatch", "python"),
    "launch-bound": ("dispatch",),
    "stalled": ("stall",),
    "input-bound": ("input_wait",),
    "copy-bound": ("copy_in", "copy_out", "copy"),
    "not-known": (NOT_KNOWN,),
}
"""Findings that state a share of a call, with the phases that this share includes."""


TIME = r"(?<![\d.,])(\d[\d.,]*) (ns|µs|ms|s|min|h)\b(?: \[[^]]*\])?"
SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
SHARE = re.compile(r"([\d,]+(?:\.\d+)?)% (?:at least )?of (?:each call|a call|it is|[\d.,]+ \w+/s)")
"""Matches `12% of 199 GFLOP/s`, `71% of a call`."""
CLAUSE = r"; the quotient of the medians is [\d.,]+×"
"""Matches the clause about a quotient of medians that is outside the ratio's interval."""
COMPARED = re.compile(
    rf"([\d.,]+)× (?:faster|slower)([^.;(]*?(?: \[[^]]*\])?)(?: \(|\. On the CPU ){TIME} against {TIME}"
    rf"((?:{CLAUSE})?)"
)
"""Matches `7.5× faster than eager [7 8]. On the CPU 900 µs [470 2,000] against 7.5 ms [3.5 10]`."""
JUDGED = re.compile(
    rf"took {TIME}, .*? {TIME}: ([\d.,]+)× (?:faster|slower|as fast)(.*?(?: \[[^]]*\])?(?:, which may be noise)?(?:{CLAUSE})?)"
)
"""Matches `CPU alone took 25 ms, CPU shared 47 ms: 1.88× faster [1.75 2.02]`."""


INSTEAD = re.compile(rf"(dispatch|computing|Python|waiting for input) takes {TIME} instead of {TIME}")
"""Matches `dispatch takes 560 µs instead of 3.77 ms`."""


def contradictions(state: RunState, claims: Sequence[Claim] = ()) -> list[str]:
    result = summarise(state, claims)
    told = json.loads(msgspec.json.encode(result))
    out: list[str] = []
    for arm, row in zip(result.arms, told["arms"], strict=True):
        out += [f"{arm.label}: {found}" for found in _of_arm(state, result, arm, row)]
        out += [f"{arm.label}: {found}" for found in _work(state, result, arm, row)]
        out += [f"{arm.label}: {found}" for found in _beyond(arm)]
    out += [f"more than all: {said!r}" for said in _more_than_all(result)]
    return [*out, *_ratios(result), *_claims(state, result, told)]


def _work(state: RunState, result: RunResult, arm: ArmResult, told_row: dict) -> Iterator[str]:
    """Yield an error for each statement about the FLOP, bytes or ops of a call that differs from the
    run's data.
    """
    roof, point = arm.roof, summary_point(state)
    known = state.arms[arm.id]
    told = launches(known, point)
    number = sum(node.count for node in ops_of(known.placement.get(point, ())))
    if told and arm.mode != "xla" and f"{number:,} op" not in told:
        yield f"it is said to launch {told}, the placement has {number:,}"
    for found in result.diagnosis:
        said = re.search(r"([\d,]+) ops", found.message.partition(";")[0])
        if found.arm == arm.id and said and said[0] not in told and found.code != "host-ops":
            yield f"advice says {found.message!r}, the placement {number:,} ops"
    if roof is None or arm.median_s is None:
        return
    work = known.work.get(point)
    if work is not None and (roof.flop, roof.bytes) != (work.flop, work.bytes):
        yield f"the roof counts {roof.flop} FLOP, {roof.bytes} bytes; the work {work.flop}, {work.bytes}"
    if (told_row["roof"]["flop"], told_row["roof"]["bytes"]) != (roof.flop, roof.bytes):
        yield f"the JSON counts {told_row['roof']}"
    for amount, each, unit in ((roof.flop, roof.flop_per_s, "FLOP/s"), (roof.bytes, roof.bytes_per_s, "B/s")):
        if each is None:
            continue
        if amount is None or not math.isclose(amount / arm.median_s, each):
            yield f"{amount} in {arm.median_s} s are not {each} {unit}"
        if rate(each, unit) not in roof.sentence:
            yield f"the roofline says {roof.sentence!r}, the field {rate(each, unit)}"
        rows = [" ".join(cells) for cells in roof_rows(result) if cells[0] == arm.label]
        if rows and not any(rate(each, unit) in row for row in rows):
            yield f"the table of roofs lacks {rate(each, unit)}: {rows}"
    for series in roofline_chart(state).series:
        if series.key == arm.id and series.x and not result.axis:
            flop_a_byte, per_s = roof.flop / roof.bytes, roof.flop_per_s
            if (series.x[0], series.y[0]) != (flop_a_byte, per_s):
                yield f"the roofline draws {series.x[0]}, {series.y[0]}, the field {flop_a_byte}, {per_s}"
    if roof.share is not None and share_words(roof.share) not in roof.sentence:
        yield f"the roofline says {roof.sentence!r}, the field {share_words(roof.share)}"


def _beyond(arm: ArmResult) -> Iterator[str]:
    """Yield an error if an arm is faster than its machine's limit, or if a part of a call takes longer than
    the whole call.
    """
    if arm.median_s is None:
        return
    slowest = arm.ci95_s[1] if arm.ci95_s else arm.median_s
    if arm.roof is not None and arm.roof.bound_s is not None and arm.roof.bound_s > slowest * (1 + 1e-9):
        yield f"{slowest} s beat their bound of {arm.roof.bound_s}"
    parts = arm.account.parts if arm.account is not None else ()
    shares = {part.phase: part.seconds / arm.median_s for part in parts}
    if arm.roof is not None and arm.roof.share is not None:
        shares["the roof"] = arm.roof.share
    yield from (f"{share} of {name}" for name, share in shares.items() if not 0 <= share <= 1 + 1e-9)


def _more_than_all(result: RunResult) -> Iterator[str]:
    """Yield each share of a roof or of a call that exceeds 100%, in the JSON or the report."""
    for text in (msgspec.json.encode(result).decode(), table(result, details=True)):
        yield from (f[0] for f in SHARE.finditer(text) if float(f[1].replace(",", "")) > 100)


def _ratios(result: RunResult) -> Iterator[str]:
    """Yield an error for each ratio that is not the quotient of the two medians next to it, unless the text
    explains the difference.
    """
    for found in COMPARED.finditer(result.answer):
        ratio, between, one, unit, other, another, clause = found.groups()
        yield from _quotient(ratio, between + clause, one, unit, other, another, found[0])
    for claim in result.claims:
        for found in JUDGED.finditer(claim.evidence):
            one, unit, other, another, ratio, paired = found.groups()
            yield from _quotient(ratio, paired, one, unit, other, another, found[0])
    yield from _behind(result)
    lines = "\n".join(phase_line(arm) for arm in result.arms)
    for found in INSTEAD.finditer(result.answer):
        phase = next(name for name, words in PHASE_WORDS.items() if words == found[1]).replace("_", " ")
        for time in (f"{found[2]} {found[3]}", f"{found[4]} {found[5]}"):
            if f"{phase} {time}" not in lines:
                yield f"the answer says {found[0]!r}, the phases {lines!r}"
    if re.search(r"\b0\.\d+× (faster|slower)|1\.00× (faster|slower)", result.answer):
        yield f"no ratio that a reader makes anything of: {result.answer!r}"


def _behind(result: RunResult) -> Iterator[str]:
    """Yield an error for each arm whose ratio to the fastest arm differs between the answer and the
    Compare view.
    """
    every = {arm.id: arm for arm in result.arms}
    for arm, compared in to_fastest(result).items():
        own = every[arm]
        label = re.escape(own.label)
        said = re.search(
            rf"{label} {TIME}, ([\d.,]+)×( slower[^.;[]*(?:\[[^]]*\])?(?:{CLAUSE})?)", result.answer
        )
        if said is None:
            continue
        alike = [each for each in result.arms if each.median_s and each.does == own.does]
        first = min(alike, key=lambda each: each.median_s or 0.0)
        assert first.median_s is not None
        if f"{said[3]}×" != compared.words:
            yield f"the answer says {said[0]!r}, Compare {compared.words}"
        time, unit = median_of(first.median_s, first.half_width_s).rsplit(" ", 1)
        yield from _quotient(said[3], said[4], said[1], said[2], time, unit, said[0])


def _quotient(
    ratio: str, after: str, one: str, unit: str, other: str, another: str, said: str
) -> Iterator[str]:
    """Yield an error if the quotient of two figures is outside the ratio's interval, unless the text
    explains the difference.
    """
    a, b = (float(t.replace(",", "")) * SECONDS[u] for t, u in ((one, unit), (other, another)))
    digits = ratio.replace(",", "")
    decimals = len(digits.partition(".")[2]) or len(digits.rstrip("0")) - len(digits)
    quotient = round(max(a / b, b / a), decimals)
    ends = re.search(r"\[([\d.,]+) ([\d.,]+)\]", after)
    low, high = (float(end.replace(",", "")) for end in ends.groups()) if ends else (math.inf, -math.inf)
    inside = low <= min(quotient, float(digits)) and max(quotient, float(digits)) <= high
    if quotient != float(digits) and not inside and not re.search(CLAUSE, after):
        yield f"not the quotient of the figures next to it: {said!r}"


def _claims(state: RunState, result: RunResult, told: dict) -> Iterator[str]:
    """Yield an error for each verdict that the JSON or a report lacks or changes, and for evidence that
    contradicts the figures.
    """
    pages = {
        "text": table(result),
        "markdown": re.sub(r"\\(.)", r"\1", FORMATS["markdown"][1](result, state)),
        "html": html.unescape(re.sub(r"<[^>]*>", "", FORMATS["html"][1](result, state))),
    }
    labels = sorted((arm.label for arm in result.arms), key=len, reverse=True)
    for verdict, row, raw in zip(result.claims, claim_rows(result), told["claims"], strict=True):
        if (raw["verdict"], raw["evidence"]) != (verdict.verdict, verdict.evidence):
            yield f"the JSON judges {raw}, the result {verdict}"
        if verdict.verdict not in row[0] or row[2] != verdict.evidence:
            yield f"the table judges {row}, the result {verdict}"
        for name, page in pages.items():
            if verdict.evidence not in page:
                yield f"{name} lacks {verdict.evidence!r}"
        if verdict.evidence.partition(" ")[0].isalpha() and not verdict.evidence[:1].isupper():
            yield f"no sentence: {verdict.evidence!r}"
        for label in labels:
            arm = next(each for each in result.arms if each.label == label)
            said = re.search(rf"{re.escape(label)} (?:took )?{TIME}", verdict.evidence)
            if said and arm.median_s and median_of(arm.median_s, arm.half_width_s) not in said[0]:
                yield f"the evidence says {said[0]!r}, the median is {arm.median_s}"
            share = re.search(rf"takes ([\d.<]+%) of a call of {re.escape(label)}(?= |;|$)", verdict.evidence)
            if (
                share
                and arm.account
                and not any(percent(arm.account.share(*phases)) == share[1] for phases in _together(arm))
            ):
                yield f"the evidence says {share[0]!r}, the account {arm.phases_s}"


def _together(arm: ArmResult) -> Iterator[tuple[str, ...]]:
    """Yield the phases that a claim may name: each phase, and all copies together."""
    yield from ((phase,) for phase in (*arm.phases_s, "input_wait", "dispatch"))
    yield ("copy_in", "copy_out")


def _of_arm(state: RunState, result: RunResult, arm: ArmResult, row: dict) -> Iterator[str]:
    account = arm.account
    if account is None or arm.median_s is None:
        if arm.phases_s:
            yield f"phases without an account: {arm.phases_s}"
        return
    parts = {part.phase: part.seconds for part in account.parts}
    if row["phases_s"] != parts or {p["phase"]: p["seconds"] for p in row["account"]["parts"]} != parts:
        yield f"the JSON has {row['phases_s']}, the account {parts}"
    if abs(sum(parts.values()) - arm.median_s) > 1e-9 * arm.median_s or account.total_s != arm.median_s:
        yield f"parts come to {sum(parts.values())}, the median is {arm.median_s}"
    yield from _bound(state, result, arm, parts)
    yield from _shares(result, arm, parts)
    yield from _texts(state, result, arm)


def _bound(state: RunState, result: RunResult, arm: ArmResult, parts: dict[str, float]) -> Iterator[str]:
    if arm.roof is None:
        return
    sums = {name: sum(parts.get(phase, 0.0) for phase in phases) for name, phases in GROUPS.items()}
    known = {phase for phases in GROUPS.values() for phase in phases}
    sums["python"] = sum(spent for phase, spent in parts.items() if phase not in known)
    by, most = arm.roof.bound_by, max(sums.values())
    if sums[by] < most * (1 - 1e-12):
        yield f"bound by {by}, which takes {sums[by]} of {arm.median_s}; something else takes {most}"
    words = binding(by)
    if f"bound by {words}" not in arm.roof.sentence and "the limit is unknown" not in arm.roof.sentence:
        yield f"the roofline says {arm.roof.sentence!r}, the field {by}"
    for row in roof_rows(result):
        if row[0] == arm.label and row[-1] != words:
            yield f"the table of roofs says {row[-1]}, the field {by}"
    for series in roofline_chart(state).series:
        if series.key == arm.id and series.note and not series.note.endswith(words):
            yield f"the roofline's label says {series.note!r}, the field {by}"


def _shares(result: RunResult, arm: ArmResult, parts: dict[str, float]) -> Iterator[str]:
    assert arm.median_s is not None
    for found in result.diagnosis:
        if found.arm != arm.id or found.code not in ADVICE:
            continue
        share = sum(parts.get(phase, 0.0) for phase in ADVICE[found.code]) / arm.median_s
        whole = found.code == "not-known" and "cannot be split" in found.message
        if share <= ALL if whole else percent(share) not in found.message:
            yield f"advice says {found.message!r}, the account {percent(share)}"
    copied = sum(parts.get(phase, 0.0) for phase in ("copy_in", "copy_out", "copy")) / arm.median_s
    for sentence in re.split(r"(?<=\.) (?=[A-Z])", result.answer):
        if (
            sentence.startswith(f"{arm.label} ")
            and "of it is copying" in sentence
            and percent(copied) not in sentence
        ):
            yield f"the answer says {sentence!r}, the account {percent(copied)}"


def _texts(state: RunState, result: RunResult, arm: ArmResult) -> Iterator[str]:
    assert arm.account is not None and arm.median_s is not None
    line, median = phase_line(arm), median_of(arm.median_s, arm.half_width_s)
    if not line.startswith(f"{arm.label}: {median} = "):
        yield f"phases begin {line[:60]!r}, the median is {median}"
    if arm_row(arm)[1] != median:
        yield f"the table of arms has {arm_row(arm)[1]}, the median is {median}"
    for part in arm.account.parts:
        if (
            f"{part.phase.replace('_', ' ')} " not in line
            or percent(arm.account.share(part.phase)) not in line
        ):
            yield f"phases say {line!r}, the account {part.phase} {percent(arm.account.share(part.phase))}"
    shown = table(result, details=True)
    if line not in shown:
        yield f"the report lacks {line!r}"
    known = state.arms[arm.id].profile
    if known is not None:
        _, shares, *_ = summary_lines(known, arm.label, arm.account)
        for part in arm.account.parts:
            share = arm.account.share(part.phase)
            if share >= 0.01 and f"{part.phase.replace('_', ' ')} {percent(share)}" not in shares:
                yield f"the timeline says {shares!r}, the account {part.phase} {percent(share)}"
    for name in ("markdown", "html"):
        page = FORMATS[name][1](result, state)
        # Only an HTML page has tags. In Markdown, "< 0.1% … >" is text.
        page = page.replace("\\", "") if name == "markdown" else re.sub(r"<[^>]*>", "", page)
        if f"{median} = " not in page:
            yield f"{name} lacks the phases of {median}"
