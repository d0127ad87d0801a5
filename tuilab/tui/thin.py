"""Screens that paint no faster than the line to the terminal takes it: row by row where it is slow.

What has changed and may not be sent yet is remembered as regions and drawn from what is true when its turn
comes, so that paints which nobody could have seen are dropped.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from textual.geometry import Region

from tuilab.tui.widgets.quiet import QuietScreen

if TYPE_CHECKING:
    from textual.app import App

    from tuilab.tui.link import Link

AGAIN_S = 0.05
CELL_BYTES, PLACE_BYTES = 4.0, 12
"""What a cell costs about, colours included, until it is known; and the way to it."""
WIDEST = 32
"""Cells of a row that are sent at once."""


class ThinScreen(QuietScreen):
    """Paints as much at once as the app's `link` has room for; all, where it has no limit or is none."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._kept: dict[Region, None] = {}
        self._again = False
        self._cell_bytes = CELL_BYTES

    def _compositor_refresh(self) -> None:
        # Textual forgets which widgets wait to be drawn at the end of this.
        self._compositor.update_widgets(self._dirty_widgets)
        app, link = self.app, getattr(self.app, "link", None)
        if link is None or app.screen is not self or app._driver is None or not hasattr(app._driver, "ask"):
            super()._compositor_refresh()
            return
        if app._batch_count:
            # Textual would drop it.
            self._later()
            return
        cells, before = self._choose(link), link.sent
        super()._compositor_refresh()
        if cells:
            self._cell_bytes = max(2.0, (self._cell_bytes + (link.sent - before) / cells) / 2)
        app._driver.ask()
        tell(app, link.word)
        if self._kept:
            self._later()

    def _choose(self, link: "Link") -> int:
        """Leave to the compositor what may be painted now, keep the rest; how many cells, 0 for all."""
        room, dirty = link.room(), self._compositor._dirty_regions
        if room is None and link.sparing and self._kept:
            # What has just changed is what was asked for; the rest still waits.
            news = rows(clipped(dirty, self.size.region))
            self._kept = merged(self._kept, news, first=True)
            for row in news:
                self._kept.pop(row, None)
            return 0
        if room is None:
            dirty.update(clipped(self._kept, self.size.region))
            self._kept.clear()
            return 0
        self._kept = merged(self._kept, rows(clipped(dirty, self.size.region)), first=link.hurried)
        dirty.clear()
        focused = self.focused.region if self.focused is not None else Region()
        taken = take(self._kept, room, focused, self._cell_bytes)
        dirty.update(taken)
        return sum(row.width for row in taken)

    def _later(self) -> None:
        if not self._again:
            self._again = True
            self.set_timer(AGAIN_S, self._retry)

    def _retry(self) -> None:
        self._again = False
        self._compositor_refresh()

    def on_arrived(self) -> None:
        """What was sent is on the terminal."""
        if self._kept:
            self._compositor_refresh()
        tell(self.app, self.app.link.word)  # type: ignore[attr-defined]


def tell(app: "App[Any]", word: str) -> None:
    """Let the first line say what the line to the terminal is like."""
    from tuilab.tui.panels.header import Header

    for header in app.screen_stack[0].query(Header):
        header.line = word


def clipped(regions: Iterable[Region], screen: Region) -> list[Region]:
    """The parts of the regions that lie on the screen."""
    return [part for region in regions if (part := region.intersection(screen))]


def rows(regions: Iterable[Region]) -> list[Region]:
    """The regions' rows, from the top."""
    return sorted((row for region in regions for row in region_rows(region)), key=lambda r: (r.y, r.x))


def region_rows(region: Region) -> list[Region]:
    """A region's rows, in pieces that begin at the same columns wherever the region does."""
    starts = [region.x, *range((region.x // WIDEST + 1) * WIDEST, region.right, WIDEST)]
    spans = list(zip(starts, [*starts[1:], region.right], strict=True))
    return [Region(left, y, right - left, 1) for y in region.line_range for left, right in spans]


def merged(old: Iterable[Region], new: list[Region], first: bool) -> dict[Region, None]:
    """Old rows and new ones without those that lie within another; the new in front where they come first."""
    news = dict.fromkeys(new)
    by_row: dict[int, list[Region]] = {}
    for region in news:
        by_row.setdefault(region.y, []).append(region)
    olds = [r for r in old if not any(n.contains_region(r) for n in by_row.get(r.y, ()))]
    return dict.fromkeys([*news, *olds] if first else [*olds, *news])


def take(
    kept: dict[Region, None], room: float, focused: Region, cell_bytes: float = CELL_BYTES
) -> list[Region]:
    """Rows for about so many bytes, taken out of those kept: what has the keys, the first line, others."""
    out: list[Region] = []
    for row in sorted(kept, key=lambda r: 0 if focused.overlaps(r) else 1 if r.y == 0 else 2):
        if room <= 0:
            break
        room -= row.width * cell_bytes + PLACE_BYTES
        out.append(row)
        del kept[row]
    return out
