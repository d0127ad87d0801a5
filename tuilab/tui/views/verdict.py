"""Verdict: what the document claims, what was measured, what its code got wrong, what to do."""

from collections.abc import Iterable, Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tuilab.model.claims import Claim, Verdict
from tuilab.model.preset import Preset
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.report.rows import advice as report_advice
from tuilab.tui.verdicts import VERDICTS
from tuilab.tui.views.base import View


class VerdictView(View):
    """A page of text, scrolled."""

    HELP = """\
## Verdict

Each claim of the document in our words, with this machine's verdict and its evidence: ✓ confirmed,
✗ refuted, ≈ undecided (the intervals do not decide it), ? untestable here, ⊘ impossible on any known GPU.
Then what else the run showed, what is wrong with the document's own code as a measurement, and what to do,
starting with what holds each arm back most in this run.
"""

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(markup=False)

    def draw(self) -> None:
        lab_state = self.lab.state
        settings = lab_state.settings
        page = self.query_one(Static)
        if settings is None:
            page.update(Content("Nothing is open. p shows the presets."))
            return
        result = lab_state.result()
        same = result is not None and result.preset == settings.preset.name
        facts = observed(lab_state.shown) if same else ()
        lines = document(settings.preset, result if same else None, facts)
        page.update(
            Content("\n").join([*lines, *others(settings.preset, lab_state.presets, lab_state.verdicts)])
        )


def document(preset: Preset, result: RunResult | None, facts: Sequence[str] = ()) -> list[Content]:
    """The page, line by line."""
    out: list[Content] = []
    source = preset.source
    if source is not None:
        place = f"document {source.document}"
        place += f", example {source.example}" if source.example else ", in its prose"
        place += f", lines {source.lines[0]} to {source.lines[1]}" if source.lines else ""
        out += [
            Content.styled(source.title or preset.title, "bold"),
            Content.styled(place, "$primary"),
            Content(""),
        ]
    if preset.summary:
        out += [*paragraph(preset.summary), Content("")]
    verdicts = {v.text: v for v in result.claims} if result else {}
    for number, claim in enumerate(preset.claims, 1):
        out += [*about_claim(number, claim, verdicts.get(claim.text)), Content("")]
    if facts:
        out += [Content.styled("Observed", "$accent"), *map(Content, facts), Content("")]
    if preset.wrong:
        out += [
            Content.styled("What the document's code gets wrong", "$accent"),
            *paragraph(preset.wrong),
            Content(""),
        ]
    found = [f"→ {line}" for line in report_advice(result)] if result else []
    if found or preset.advice:
        between = [Content("")] if found and preset.advice else []
        advice = [*map(Content, found), *between, *paragraph(preset.advice)]
        out += [Content.styled("What to do", "$accent"), *advice]
    return out


def others(preset: Preset, presets: Sequence[Preset], verdicts: Mapping[str, str]) -> list[Content]:
    """What else the same document claims and gets wrong, with the verdicts that are known here."""
    number = preset.source.document if preset.source else ""
    rest = [p for p in presets if number and p.source and p.source.document == number and p != preset]
    out: list[Content] = []
    for other in (p for p in rest if p.name != preset.name):
        look = VERDICTS.get(verdicts.get(other.name, ""))
        mark, tone = (look.mark, look.tone) if look else ("·", "muted")
        out.append(Content.assemble((f"{mark} ", f"$text-{tone}"), (other.title, "bold")))
        out += [Content("  " + claim.text) for claim in other.claims]
        out += [Content.styled("  " + line.plain, "$text-muted") for line in paragraph(other.wrong)]
    head = [Content(""), Content.styled("The rest of this document (F measures all of it)", "$accent")]
    return [*head, *out] if out else []


def observed(state: RunState) -> list[str]:
    """What the workload saw beside time, in its own sentences, each once, with the arms that it is about."""
    about: dict[str, list[str]] = {fact.text: [] for fact in state.facts if fact.text}
    measured = [arm for arm in state.arms.values() if arm.status == "ok"]
    for arm in measured:
        for text in dict.fromkeys(fact.text for fact in arm.facts if fact.text):
            about.setdefault(text, []).append(arm.label)
    return [said(text, arms, len(measured)) for text, arms in about.items()]


def said(text: str, arms: Iterable[str], measured: int) -> str:
    """`CPU eager, CPU graph: traced 3 times.`; without names where it is so of every arm measured."""
    names = list(arms)
    whose = f"{', '.join(names)}: {text}" if 0 < len(names) < measured else text[:1].upper() + text[1:]
    return whose if whose.endswith((".", "!", "?")) else whose + "."


def about_claim(number: int, claim: Claim, verdict: Verdict | None) -> list[Content]:
    """A claim, its verdict with the evidence, and the advice that goes with it."""
    lines = [Content.styled(f"Claim {number}", "$accent"), Content(claim.text)]
    if verdict is None:
        return [*lines, Content.styled("Not measured yet; r measures.", "$primary")]
    look = VERDICTS[verdict.verdict]
    head = f"{look.mark} {look.words}", f"$text-{look.tone} bold"
    lines.append(Content.assemble(head, "  " + verdict.evidence))
    if claim.advice:
        lines.append(Content.styled(claim.advice, "$primary"))
    return lines


def paragraph(text: str) -> list[Content]:
    """A text of the preset's, as plain lines."""
    return [Content(line) for line in text.strip().splitlines()]
