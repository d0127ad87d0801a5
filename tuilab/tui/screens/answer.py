"""The answer in full: how sure it is, every claim with its evidence, every caveat, what to do."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tuilab.lab.answer import Said, answer
from tuilab.model.result import RunResult
from tuilab.report.rows import advice, arm_rows, claim_rows, doubts, interval_line, provenance
from tuilab.tui.screens.modal import TextPage

if TYPE_CHECKING:
    from tuilab.lab import Lab


class AnswerScreen(TextPage):
    """What the answer's three lines have no room for."""

    HELP = """\
## The answer in full

Nothing is cut here: the sentence, how sure it is and what its intervals are of, each arm, each claim of the
document with its verdict and evidence, every caveat, what to do, and how it was measured.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A,q,enter", "close", "close", show=False, id="answer.close")
    ]

    def __init__(self, lab: "Lab") -> None:
        super().__init__("Answer", "arrows and wheel scroll, esc closes")
        self.lines = page(answer(lab.state), lab.state.result())
        """What the page says."""

    def on_mount(self) -> None:
        self.show(self.lines)


def page(said: Said, result: RunResult | None) -> list[Content]:
    """The page, line by line."""
    out = [Content.styled(said.sentence, "bold")]
    if said.detail:
        out.append(Content.styled(said.detail, "$text-muted"))
    if result is None:
        return out
    sure = result.confidence
    if sure is not None:
        reached = "The precision that was asked for was reached." if sure.precise else ""
        more = (reason for reason in sure.reasons if reason not in sure.badge)
        words = [f"⚠ {sure.badge}" if sure.badge else reached, *more, interval_line(result)]
        out += _section("How sure", filter(None, words))
    out += _section("Arms", ("  ".join(filter(None, row)) for row in arm_rows(result)))
    claims = [
        line for verdict, text, evidence in claim_rows(result) for line in (f"{verdict}: {text}", evidence)
    ]
    out += _section("Claims", filter(None, claims))
    out += _section("Caveats", doubts(result))
    out += _section("What to do", advice(result))
    return out + _section("How it was measured", provenance(result))


def _section(title: str, lines: Iterable[str]) -> list[Content]:
    found = [Content(line) for line in lines]
    return [Content(""), Content.styled(title, "$accent"), *found] if found else []
