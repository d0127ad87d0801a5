"""Turns a screen into text: the characters and colors of each line."""

from collections.abc import Iterable

from rich.segment import Segment
from rich.style import Style
from textual._context import visible_screen_stack
from textual.app import App


def lines(app: App[object]) -> list[list[Segment]]:
    # Textual also does this before it draws, because the screen below a translucent page may need a redraw.
    visible_screen_stack.set(app._background_screens)
    return [list(strip) for strip in app.screen._compositor.render_strips()]


def picture(app: App[object]) -> str:
    """Return every line of the screen with its styles (`a12b3`: 12 cells in style a, 3 in b), and then
    the meaning of each style's name.
    """
    names: dict[str, str] = {}
    out = []
    for segments in lines(app):
        out.append("".join(segment.text for segment in segments).rstrip() or ".")
        out.append("    " + "".join(f"{names.setdefault(s, name(len(names)))}{n}" for s, n in runs(segments)))
    out.append("")
    out += [f"{letter} {style}" for style, letter in names.items()]
    return "\n".join(out) + "\n"


def runs(segments: Iterable[Segment]) -> Iterable[tuple[str, int]]:
    last, count = "", 0
    for segment in segments:
        style = describe(segment.style)
        if style != last and count:
            yield last, count
            count = 0
        last = style
        count += segment.cell_length
    if count:
        yield last, count


def describe(style: Style | None) -> str:
    if style is None:
        return "plain"
    words = [style.color.name if style.color else "-", style.bgcolor.name if style.bgcolor else "-"]
    words += [word for word in ("bold", "dim", "reverse", "strike", "underline") if getattr(style, word)]
    return " ".join(words)


def name(index: int) -> str:
    """Return the name with this index: `a` … `z`, `aa` …"""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return letters[index] if index < 26 else letters[index // 26 - 1] + letters[index % 26]
