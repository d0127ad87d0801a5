"""Every widget at many sizes: nothing sticks out, each character has one in ASCII, nothing fails."""

import pytest

from tests.tui.gallery import PAGES, Gallery
from tuilab.tui.filters import TABLE
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.wording import width_of

SIZES = [(20, 3), (40, 8), (80, 24), (200, 60)]


@pytest.mark.parametrize("page", PAGES)
async def test_what_is_painted_fits(page: str) -> None:
    app = Gallery(page, ascii_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            await pilot.pause()
            for widget in app.query(LineWidget):
                size = widget.size
                if size.width < 1 or size.height < 1:
                    continue
                lines = widget.paint(size.width, size.height)
                if size.width >= 30 and size.height >= 4:
                    # On less than any usable screen, what does not fit is cut off at the edge.
                    assert len(lines) <= size.height, (widget, size)
                    assert max(map(width_of, lines), default=0) <= size.width, (widget, size)
                drawn = "".join(widget.render_line(y).text for y in range(size.height))
                assert drawn.strip()
                assert not {c for c in drawn if not c.isascii()} - set(map(chr, TABLE))
