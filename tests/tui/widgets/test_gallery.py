"""Pictures of each widget with realistic data. At no size does a widget overflow or fail.

`pytest --snapshot-update` renews the pictures.
"""

import pytest

from tests.tui.gallery import PAGES, Gallery
from tests.tui.picture import picture
from tests.tui.test_pictures import shows  # noqa: F401
from tuilab.tui.filters import TABLE
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.wording import width_of

SIZES = [(20, 3), (40, 8), (80, 24), (200, 60)]
PICTURES = {
    "tuilab-dark": {
        "sliders": (80, 14, "tab", "tab", "end", "right"),
        "live": (80, 18),
        "close": (100, 20),
        "without_gpu": (60, 16),
        "sweep": (80, 20),
        "nothing": (80, 10),
        "compare": (80, 16, "down"),
        "phases": (80, 16),
        "numbers": (120, 12, "down"),
        "placement": (120, 20, "down"),
        "answer": (80, 18),
        "heat": (80, 20, "right", "up"),
        "timeline_short": (100, 12, "n"),
        "device": (80, 24),
    },
    "tuilab-light": {
        "sliders": (120, 14),
        "live": (120, 30),
        "sweep": (200, 50),
        "compare_log": (120, 14),
        "phases_relative": (120, 14),
        "log": (80, 10),
        "heat": (120, 30),
        "device_without_gpu": (120, 16),
    },
    "ascii": {"sliders": (80, 14), "live": (80, 18)},
}


@pytest.mark.parametrize("look", PICTURES)
async def test_pictures(shows, look):  # noqa: F811
    ascii_only = look == "ascii"
    app = Gallery(theme="tuilab-dark" if ascii_only else look, ascii_only=ascii_only)
    async with app.run_test() as pilot:
        for page, (width, height, *keys) in PICTURES[look].items():
            await pilot.resize_terminal(width, height)
            await app.show(page)
            await pilot.press(*keys)
            await pilot.pause()
            assert picture(app) == shows(name=page)


async def test_what_is_painted_fits_and_each_character_has_one_in_ascii() -> None:
    app = Gallery(ascii_only=True)
    async with app.run_test() as pilot:
        for page in PAGES:
            await app.show(page)
            for size in SIZES:
                await pilot.resize_terminal(*size)
                for widget in app.query(LineWidget):
                    fits(widget)


def fits(widget: LineWidget) -> None:
    width, height = widget.size
    if width < 1 or height < 1:
        return
    lines = widget.paint(width, height)
    if width >= 30 and height >= 4:  # smaller sizes are unusable, and overflow is cut off at the edge
        assert len(lines) <= height, (widget, widget.size)
        assert max(map(width_of, lines), default=0) <= width, (widget, widget.size)
    drawn = "".join(widget.render_line(y).text for y in range(height))
    assert drawn.strip()
    assert not {c for c in drawn if not c.isascii()} - set(map(chr, TABLE))
