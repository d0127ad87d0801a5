"""Searches the history for the list of runs, and reads only the visible pages."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, overload

import msgspec

from tuilab.analysis.ratios import RatioEstimate
from tuilab.history.browse import Entry, Extent
from tuilab.history.lines import UNATTENDED, RunLine
from tuilab.lab.command_line import typed
from tuilab.lab.history import LARGEST_BRIEF, PAGE, HistoryClient, first_page, page, work_out
from tuilab.model.brief import Brief
from tuilab.model.parameters import Value
from tuilab.model.quantity import median_of
from tuilab.model.verdicts import EMULATED

MOST_PAGES = 30
"""Maximum number of pages in memory; the oldest pages are dropped."""
LATEST = ("at", False)
WAITING = Entry(
    line=RunLine(
        run="", at="", preset="", workload="", host="", budget="", status=None, rounds=0, answer="", note="",
        pinned="", source="", tags=(), size=0,
    )
)  # fmt: skip


class RunList(Sequence[Entry]):
    """The runs that match a search, in sort order. Rows that are not loaded are `WAITING`.

    The owner calls `look` with the visible rows, and `read_next` while `wants` is true. `read_next` first
    runs a new search, then reads pages, then missing summaries.
    """

    def __init__(self, client: HistoryClient, titles: Mapping[str, str]) -> None:
        """titles: the titles of presets by name, which a search also matches."""
        self._client, self._titles = client, titles
        self.search, self.order = "", LATEST
        self.extent = Extent()
        self._wanted: tuple[str, tuple[str, bool], int] | None = None
        self._window = range(0)
        self._pages: dict[int, list[Entry]] = {}
        self._tried: set[str] = set()

    def find(self, search: str, order: tuple[str, bool] = LATEST, place: int = 0) -> None:
        """Request a search.

        order: the sort key, and True for ascending order. place: the cursor's row.
        """
        self._wanted = search, order, place

    def look(self, first: int, behind: int) -> None:
        self._window = range(first, behind)

    def __len__(self) -> int:
        return self.extent.runs

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):  # only the loaded rows, which suffice for column widths
            return [entry for entries in self._pages.values() for entry in entries]
        number, row = divmod(range(len(self))[place], PAGE)
        return next(iter(self._pages.get(number, ())[row : row + 1]), WAITING)

    @property
    def wants(self) -> bool:
        """True if a search, a page or a summary must be read."""
        return self._next() is not None

    async def read_next(self) -> int | None:
        """Run the requested search, or else read the next page or summary.

        Returns the cursor's row after a search, else None. Raises sqlite3.Error; a failed search also
        empties the list, and `wants` is false until `look` is called again.
        """
        step = self._next()
        try:
            return await step() if step is not None else None
        except sqlite3.Error:
            self._window = range(0)
            raise

    def _next(self) -> Callable[[], Awaitable[int | None]] | None:
        if self._wanted is not None:
            return self._read_search
        # A search may leave fewer rows than are visible.
        window = range(self._window.start, min(self._window.stop, len(self)))
        for place in window:
            if place // PAGE not in self._pages:
                return partial(self._read_page, place // PAGE)
        for entry in map(self.__getitem__, window):
            over = entry.line.status is not None and entry.line.rounds and entry.line.size <= LARGEST_BRIEF
            if over and entry.brief is None and entry.run not in self._tried:
                return partial(self._work_out, entry)
        return None

    async def _read_search(self) -> int:
        assert self._wanted is not None
        (self.search, self.order, place), self._wanted = self._wanted, None
        call = partial(first_page, search=self.search, order=self.order, place=place, titles=self._titles)
        self._window = range(0)
        try:
            self.extent, number, entries, place = await self._client.do(call)
        except sqlite3.Error:
            self.search, self.extent, self._pages = "", Extent(), {}
            raise
        self._pages = {number: entries}
        return place

    async def _read_page(self, number: int) -> None:
        call = partial(page, search=self.search, order=self.order, number=number, titles=self._titles)
        self._pages[number] = await self._client.do(call)
        if len(self._pages) > MOST_PAGES:
            del self._pages[next(iter(self._pages))]

    async def _work_out(self, entry: Entry) -> None:
        self._tried.add(entry.run)
        summed = msgspec.structs.replace(entry, brief=await self._client.do(partial(work_out, entry=entry)))
        for entries in self._pages.values():
            entries[:] = [summed if known.run == entry.run else known for known in entries]


def name(entry: Entry) -> str:
    """Return the run's name, such as `stft-small`; for a sweep, `stft-small by samples`."""
    return f"{entry.name} by {entry.brief.swept}" if entry.brief and entry.brief.swept else entry.name


def machine(entry: Entry) -> str:
    """Return the machine's name, with `EMULATED` if one of the compared arms ran on an emulated GPU."""
    compared = (entry.brief.fastest, entry.brief.next) if entry.brief is not None else ()
    soft = any(name.startswith(EMULATED) for name in compared)
    return f"{EMULATED} {entry.line.host}" if soft else entry.line.host


def tags(entry: Entry) -> str:
    return " ".join(f"#{tag}" for tag in entry.line.tags)


def status(entry: Entry) -> str:
    return (entry.line.status or "not finished") if entry.run else ""


def changed(entry: Entry, usual: Mapping[str, Value] | None) -> str:
    """Return the sizes of a sweep, and the parameters that differ from the defaults in `usual`. If `usual` is
    None, return all parameters.

    Omits the swept parameters, because a sweep ignores the values of their sliders.
    """
    known: Mapping[str, Any] = usual or {}
    swept = entry.brief.swept.split(", ") if entry.brief else ()
    fixed = [
        f"{n}={typed(v)}"
        for n, v in entry.parameters.items()
        if known.get(n) != v and n.replace("_", " ") not in swept
    ]
    return ", ".join(filter(None, [entry.brief.sizes if entry.brief else "", " ".join(fixed)]))


def fastest(entry: Entry) -> str:
    """Return the fastest arm with its time, such as `CPU graph 0.48 ms`."""
    brief = entry.brief
    if entry.line.status == "failed" and (brief is None or brief.median_s is None):
        return "failed"
    if brief is None or brief.median_s is None:
        return "" if brief is None else "nothing measured"
    return f"{brief.fastest} {median_of(brief.median_s)}"


def against(entry: Entry) -> str:
    """Return the label of the arm with which the fastest arm is compared."""
    return entry.brief.next if entry.brief is not None else ""


def lead(entry: Entry) -> str:
    """Return the lead of the fastest arm, such as `1.3×`; `≈ 1×` for equal times, `≈` if noise hides the
    difference.
    """
    brief = entry.brief
    if brief is None or brief.ratio is None:
        return ""
    if brief.leads:
        return _estimate(brief).words
    return "≈ 1×" if _estimate(brief).alike else "≈"


def sentence(entry: Entry) -> str:
    """Return the saved answer of a run, or an answer made from its summary."""
    brief = entry.brief
    if entry.line.answer:
        later = " It finished in the background." if UNATTENDED in entry.line.tags else ""
        return f"{entry.line.answer}{later}"
    if entry.line.status is None and not entry.line.rounds:
        return "It has no rounds: it has just started, or was cut short before the first round."
    if brief is None and entry.line.status is None:
        return "It is being measured, or was cut short; {table.select} replays its rounds."
    if brief is None:
        saved = "No answer was saved; {table.select} replays the run."
        return saved if entry.line.rounds else "It has no rounds."
    if brief.median_s is None:
        return "No arm could be measured."
    if brief.ratio is None or brief.low is None or brief.high is None:
        return f"{fastest(entry)} per call."
    if not brief.leads:
        verb = (
            "takes the same time within 10%" if lead(entry) == "≈ 1×" else "shows no significant difference"
        )
        return f"{fastest(entry)} per call; {brief.next} {verb}."
    ratio = _estimate(brief)
    takes = f"{brief.next} takes {ratio.words} {ratio.span} as long."
    return f"{brief.fastest} is fastest: {median_of(brief.median_s)}. {takes}"


def _estimate(brief: Brief) -> RatioEstimate:
    assert brief.ratio is not None
    return RatioEstimate(brief.ratio, brief.low, brief.high, brief.rounds)
