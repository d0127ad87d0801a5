"""The answer: one sentence with numbers, always in the same place, with the claim's verdict."""

import re
from collections.abc import Sequence

from rich.cells import cell_len
from textual import events

from tuilab.lab.answer import Said
from tuilab.model.verdicts import VERDICTS
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, Run
from tuilab.tui.widgets.wording import fit, wrap

_STYLES = {"success": GOOD, "error": BAD, "warning": WARN, "muted": MUTED}
_NUMBER = re.compile(
    r"\[[^\]]*\]|(?<![\w.:])[0-9][0-9.,]*(?:\s?(?:ns|µs|ms|s|%|×|kB|MB|GB|TB|k|M|G)(?![\w]))*"
)


def numbers_strong(text: str) -> list[Run]:
    """The text with its numbers and their units in strong style, intervals muted."""
    out: list[Run] = []
    at = 0
    for match in _NUMBER.finditer(text):
        out.append((text[at : match.start()], TEXT))
        out.append((match[0], MUTED if match[0].startswith("[") else STRONG))
        at = match.end()
    out.append((text[at:], TEXT))
    return [run for run in out if run[0]]


class AnswerPanel(LineWidget):
    """One sentence, wrapped; under it what else there is to say; the verdict at the lower right."""

    DEFAULT_CSS = "AnswerPanel { height: 3; width: 1fr; }"

    HELP = """\
## The answer

What the run says, in a sentence: the median time per call with its 95 % interval in brackets, ratios, and
where one arm overtakes another. **A**, a click or the wheel opens all of it. The mark at the right is the
verdict on the document's claim: ✓ confirmed, ✗ refuted, ≈ undecided (the intervals do not decide it), ?
untestable here, ⊘ impossible on any known GPU.
"""

    def __init__(self, *, empty: str = "") -> None:
        super().__init__(empty=empty)
        self._said = Said("")

    def say(self, said: Said) -> None:
        """Show the sentence, with what stands under it and the claim's verdict."""
        if said != self._said:
            self._said = said
            self.repaint()

    async def on_click(self) -> None:
        """Open the whole answer."""
        await self.screen.run_action("page('answer')")

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """To read on is to open the whole answer."""
        event.stop()
        await self.screen.run_action("page('answer')")

    @property
    def sentence(self) -> str:
        """The sentence that shows."""
        return self._said.sentence

    def paint(self, width: int, height: int) -> Sequence[Line]:
        said, tag = self._said, list[Run]()
        if not said.sentence:
            return self.empty_lines(width, height)
        if said.verdict:
            look = VERDICTS[said.verdict]
            tag = [("claim: ", MUTED), (f"{look.mark} {look.words}", _STYLES[look.tone])]
        return lay_out(said.sentence, said.detail, tag, width, height)


def lay_out(sentence: str, detail: str, tag: Sequence[Run], width: int, height: int) -> list[Line]:
    """The sentence, the detail under it where there is room, and the tag at the end of the last line."""
    kept = sum(cell_len(text) for text, _ in tag)
    last = width - kept - 2 if kept else width
    rows: list[list[Run]] = []
    for text, make in ((sentence, numbers_strong), (detail, lambda line: [(line, MUTED)])):
        lines = wrap(text, max(8, width))
        while lines and len(rows) < height:
            if len(rows) == height - 1:
                # The last line: shorter by the tag, and cut where the text goes on.
                rest = " ".join(lines)
                rows.append(make(fit(rest, max(1, min(last, cell_len(rest))))))
                break
            rows.append(make(lines.pop(0)))
    rows += [[] for _ in range(height - len(rows))]
    if kept and rows:
        used = sum(cell_len(text) for text, _ in rows[-1])
        rows[-1] += [(" " * max(2, width - kept - used), TEXT), *tag]
    return [tuple(row) for row in rows]
