"""The answer panel: a sentence with figures, and the verdict on the claim."""

import re
from collections.abc import Sequence

from rich.cells import cell_len
from textual import events

from tuilab.model.verdicts import VERDICTS
from tuilab.presentation.answer import Said
from tuilab.tui.keys import spoken
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, Run
from tuilab.tui.widgets.wording import clip, whole_words, width_of, wrap

_STYLES = {"success": GOOD, "error": BAD, "warning": WARN, "muted": MUTED}
_NUMBER = re.compile(
    r"\[[^\]]*\]|(?<![\w.:])[0-9][0-9.,]*(?:\s?(?:ns|µs|ms|s|%|×|kB|MB|GB|TB|k|M|G)(?![\w]))*"
)


def numbers_strong(text: str) -> list[Run]:
    """Split a text into pieces: numbers with units in strong style, intervals in muted style, and the
    rest.
    """
    out: list[Run] = []
    at = 0
    for match in _NUMBER.finditer(text):
        out.append((text[at : match.start()], TEXT))
        out.append((match[0], MUTED if match[0].startswith("[") else STRONG))
        at = match.end()
    out.append((text[at:], TEXT))
    return [run for run in out if run[0]]


class AnswerPanel(LineWidget):
    DEFAULT_CSS = "AnswerPanel { height: 3; width: 1fr; }"

    HELP = """\
## The answer

The result of the run in a sentence: the median time per call with its 95% interval in brackets, ratios, and
the size at which one arm overtakes another. **{answer}**, a click or the wheel opens the full answer. The
mark at the right is the verdict on the document's claim: ✓ confirmed, ✗ refuted, ≈ undecided (the intervals
do not decide it), ? untestable here, ⊘ impossible on any known GPU; a dash until the run has ended, or if the
values are not the document's. If the answer is cut off, the best case on a GPU appears next to the mark.
"""

    def __init__(self, *, empty: str = "", whole: str = "{answer}") -> None:
        """whole: id of the action that shows the full text. If the text does not fit, the panel shows the
        action's key.
        """
        super().__init__(empty=empty)
        self._whole = whole
        self._said = Said("")

    def show(self, said: Said) -> None:
        if said != self._said:
            self._said = said
            self.repaint()

    async def on_click(self) -> None:
        await self.screen.run_action("page('answer')")

    async def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        await self.screen.run_action("page('answer')")

    def paint(self, width: int, height: int) -> Sequence[Line]:
        said = self._said
        if not said.sentence:
            return self.empty_lines(width, height)
        tag: list[Run] = []
        if said.verdict:
            look = VERDICTS[said.verdict]
            tag = [("claim: ", MUTED), (f"{look.mark} {said.called or look.words}", _STYLES[look.tone])]
        elif said.undecided:
            tag = [(f"claim: – {said.undecided}", MUTED)]
        sentence, more = spoken(self, said.sentence), f"{spoken(self, self._whole)}: more"
        room = height - bool(said.gpu and said.gpu in said.detail)
        lines = wrap(sentence, width)
        if len(lines) > room or not _fits(lines, width, height, width_of(tag)):
            kept = width_of(tag) + len(more) + 2
            # The last line shows the best case on a GPU: users without a GPU look for it first, but the
            # answer mentions it at its end, which is cut off.
            words = [said.gpu] if said.gpu and kept + len(said.gpu) + 2 < width * 0.8 else []
            words += [more] if kept < width / 2 else []
            shown = whole_sentences(sentence, width, height, kept)
            if said.hint and said.aside not in shown and kept + len(said.hint) + 2 < width * 0.8:
                # The ratio on the screen is not the quotient of the medians, and the sentence that explains
                # this is cut off.
                words = [said.hint, more]
            for each in words:
                tag += [("  " if tag else "", TEXT), (each, MUTED)]
        return lay_out(sentence, spoken(self, said.detail), tag, width, height)


_SENTENCE_ENDS = re.compile(r"(?<=[.!?]) +")


def _fits(lines: Sequence[str], width: int, height: int, kept: int) -> bool:
    """Return True if the lines fit in `height` rows with `kept` cells free at the end of the last row."""
    return len(lines) < height or (
        len(lines) == height and (not kept or cell_len(lines[-1]) <= width - kept - 2)
    )


def whole_sentences(text: str, width: int, height: int, kept: int) -> str:
    """Return as many whole sentences as fit with `kept` free cells in the last row; the full text if not even
    the first one fits.
    """
    ends = [*(match.start() for match in _SENTENCE_ENDS.finditer(text)), len(text)]
    fitting = (text[:end] for end in reversed(ends) if _fits(wrap(text[:end], width), width, height, kept))
    return next(fitting, text)


def lay_out(sentence: str, detail: str, tag: Sequence[Run], width: int, height: int) -> list[Line]:
    """Return the lines of the panel: the sentence, then as much of the detail as fits. The tag ends the last
    line.
    """
    said = clip(whole_sentences(sentence, width, height, width_of(tag)), width, height)
    under = clip(detail, width, height - len(said)) if len(said) < height else []
    lines = [*said, *under, *[""] * (height - len(said) - len(under))]
    kept = width_of(tag)
    if kept and cell_len(lines[-1].rstrip()) > width - kept - 2:
        lines[-1] = whole_words(lines[-1].rstrip().removesuffix("…") + " …", width - kept - 2)
    rows = [numbers_strong(line) if at < len(said) else [(line, MUTED)] for at, line in enumerate(lines)]
    if kept:
        rows[-1] += [(" " * (width - kept - cell_len(lines[-1])), TEXT), *tag]
    return [tuple(row) for row in rows]
