"""Pages of text: the full answer, a verdict with its document, and the claims of a document."""

from collections.abc import Iterable, Iterator
from typing import Literal

from tuilab.analysis.words import capitalized
from tuilab.lab.state import LabState
from tuilab.model.claims import Claim, Verdict, VerdictWord
from tuilab.model.preset import Preset
from tuilab.model.run import RunState
from tuilab.model.verdicts import VERDICTS, verdict_words
from tuilab.presentation.answer import MOVED, answer, claimant, describe_continuation
from tuilab.presentation.status import status
from tuilab.report.fact_check import FactCheck, stamp
from tuilab.report.rows import (
    ARM_HEAD,
    advice,
    aligned,
    arm_rows,
    claim_rows,
    doubts,
    interval_line,
    provenance,
)

Role = Literal["text", "title", "head", "aside", "muted"] | VerdictWord
PageLine = tuple[tuple[str, Role], ...]
EMPTY: PageLine = (("", "text"),)


def answer_page(lab_state: LabState, width: int = 0) -> list[PageLine]:
    """Return the answer with its certainty, arms, claims, caveats and advice, and how it was measured.

    width: maximum width of the table of arms; 0 for no limit.
    """
    panel, result = answer(lab_state), lab_state.result()
    out: list[PageLine] = [((result.answer if result and result.answer else panel.sentence, "title"),)]
    if panel.detail:
        out.append(((panel.detail, "muted"),))
    if result is None:
        return out
    sure = result.confidence
    if sure is not None:
        reached = "The requested precision was reached." if sure.precise and result.rounds else ""
        more = [reason for reason in sure.reasons if reason not in sure.badge]
        doubtful = f"⚠ {', '.join([sure.badge, *more])}"
        words = [doubtful if sure.badge else reached, interval_line(result)]
        words += [f"{capitalized(further)}."] if (further := describe_continuation(lab_state)) else []
        out += section("Certainty", filter(None, words))
    rows = arm_rows(result)
    if all(arm.device in (None, arm.requested_device) for arm in result.arms):
        # An arm's name includes the requested device, so the device column matters only if an arm ran on
        # another one.
        rows = [row[:-1] for row in rows]
    absent = [f"  {label}: {why}" for label, why, interval, *_ in rows if not interval]
    measured = [row for row in rows if row[2]]
    table = [ARM_HEAD[: len(rows[0])], *measured] if measured else []
    out += section("Arms", [*aligned(table, width), *absent])
    undecided = lab_state.undecided
    claims = [
        line
        for word, text, evidence in claim_rows(result)
        for line in (
            (f"– {text}", *not_judged(lab_state, evidence)) if undecided else (f"{word}: {text}", evidence)
        )
    ]
    out += section("Claims", filter(None, claims))
    out += section("Caveats", [f"• {doubt}" for doubt in doubts(result)])
    out += section("What to do", [f"→ {line}" for line in advice(result)])
    out += section("How it was measured", provenance(result))
    return out


def verdict_page(lab_state: LabState) -> list[PageLine]:
    """Return the document's claim, the measurement, the mistakes in its code, and advice."""
    settings, result = lab_state.settings, lab_state.result()
    if settings is None:
        return [(("No preset is open. {presets} shows the presets.", "text"),)]
    preset = settings.preset
    if result is not None and result.preset != preset.name:
        result = None
    verdicts = {verdict.text: verdict for verdict in result.claims} if result else {}
    undecided = lab_state.undecided if result else ""
    summary = [MOVED.format(settings.moved)] * bool(settings.moved) + preset.summary.strip().splitlines()
    if lab_state.guessing:
        about = section("What it measures", summary)
        first = "In the demo, guess first, then see the result here."
        asks = section("Claim", ["The result appears here after the run." if lab_state.running else first])
        return [*_place(preset), *asks, *about]
    own = preset.advice.strip().splitlines()
    advised = [f"→ {line}" for line in advice(result)] if result else []
    out = list(_place(preset))
    claimed = f"{claimant(settings)} " if settings.moved else ""
    for number, claim in enumerate(preset.claims, 1):
        out += [
            *section(f"Claim {number}", [f"{claimed}{claim.text}"]),
            *_judged(claim, verdicts.get(claim.text), lab_state if undecided else None),
        ]
    if result is not None and any("[" in verdict.evidence for verdict in result.claims):
        out += [((line, "muted"),) for line in filter(None, [interval_line(result)])]
    out += section("Observed", observed(lab_state.shown) if result else ())
    out += section("What it measures", summary)
    out += section("Mistakes in the document's code", preset.wrong.strip().splitlines())
    out += section("What to do", [*advised, *[""] * bool(advised and own), *own])
    return [*out, *_others(preset, lab_state)]


def fact_check_page(check: FactCheck) -> list[PageLine]:
    """Return each statement with its verdict and evidence, or with a note that it is being measured."""
    out: list[PageLine] = []
    for statement in check.statements:
        role: Role = statement.verdict or "muted"
        mark: str = statement.mark
        word = statement.words or "not measured yet"
        if statement.verdict is None and statement.preset == check.going:
            mark, word, role = "▸", "measuring…", "head"
        where = f"line {statement.line} · " if statement.line else ""
        evidence = f": {statement.evidence}" if statement.evidence else ""
        out += [
            ((f"{mark} ", role), (statement.claim, "text")),
            ((f"  {where}", "muted"), (word, role), (evidence, "muted")),
        ]
        if statement.settings:
            out.append(((f"  measured: {statement.settings}", "muted"),))
        out.append(EMPTY)
    return out


def fact_check_progress(check: FactCheck, lab_state: LabState) -> str:
    """Describe the progress of a fact check, and its current step."""
    now = stamp(check)
    if check.going:
        now = f"{check.going}: {status(lab_state).text}"
    elif check.left:
        now = "stopped; {fact-check.turn} continues"
    return f"{check.summary()}. {now}"


def section(title: str, lines: Iterable[str]) -> list[PageLine]:
    """Return the title and the lines; nothing if there are no lines."""
    rows: list[PageLine] = [((line, "text"),) for line in lines]
    return [EMPTY, ((title, "head"),), *rows] if rows else []


def _place(preset: Preset) -> Iterator[PageLine]:
    if source := preset.source:
        place = f"document {source.document}"
        place += f", example {source.example}" if source.example else ", from its text"
        place += f", lines {source.lines[0]} to {source.lines[1]}" if source.lines else ""
        yield ((source.title or preset.title, "title"),)
        yield ((place, "aside"),)


def not_judged(lab_state: LabState, evidence: str) -> list[str]:
    """Return why a claim has no verdict yet and, unless the user is guessing, its evidence so far."""
    reason = lab_state.undecided
    why = [f"Not judged: {'these settings are ' * reason.startswith('not ')}{reason}."]
    if lab_state.guessing:
        return why
    return [*why, f"{'So far' if lab_state.shown.running else 'With the measured values'}: {evidence}"]


def _judged(claim: Claim, verdict: Verdict | None, unjudged: LabState | None) -> Iterator[PageLine]:
    """Yield the lines of a claim: its verdict, evidence and advice.

    unjudged: the lab's state, to explain why the verdict does not count yet; None if the verdict counts.
    """
    if verdict is None:
        yield (("Not measured yet; {run} measures it.", "aside"),)
        return
    if unjudged is not None:
        yield from (((line, "muted"),) for line in not_judged(unjudged, verdict.evidence))
        return
    words = verdict_words(verdict.verdict, verdict.emulated, verdict.apart)
    yield ((f"{VERDICTS[verdict.verdict].mark} {words}", verdict.verdict), ("  " + verdict.evidence, "text"))
    if claim.advice:
        yield ((claim.advice, "aside"),)


def _others(preset: Preset, lab_state: LabState) -> list[PageLine]:
    """Return the claims and mistakes of the document's other presets, with known verdicts."""
    number = preset.source.document if preset.source else ""
    out: list[PageLine] = []
    for other in lab_state.presets.all:
        if number and other.source and other.source.document == number and other.name != preset.name:
            word = lab_state.verdicts.get(other.name)
            mark = VERDICTS[word].mark if word else "·"
            out.append(((f"{mark} ", word or "muted"), (other.title, "title")))
            out += [((f"  {claim.text}", "text"),) for claim in other.claims]
            out += [((f"  {line}", "muted"),) for line in other.wrong.strip().splitlines()]
    return (
        [EMPTY, (("Other claims in this document ({fact-check} measures all claims)", "head"),), *out]
        if out
        else []
    )


def observed(state: RunState) -> list[str]:
    """Return the observations other than times, each with the arms that it is about.

    For example `CPU eager, CPU graph: traced 3 times.` An observation about all arms names no arm.
    """
    about: dict[str, list[str]] = {fact.text: [] for fact in state.facts if fact.text}
    measured = [arm for arm in state.arms.values() if arm.status == "ok"]
    for arm in measured:
        for text in dict.fromkeys(fact.text for fact in arm.facts if fact.text):
            about.setdefault(text, []).append(arm.label)
    out = []
    for text, arms in about.items():
        some = 0 < len(arms) < len(measured)
        line = f"{', '.join(arms)}: {text}" if some else capitalized(text)
        out.append(line if line.endswith((".", "!", "?")) else line + ".")
    return out
