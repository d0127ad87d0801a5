"""The drawing of a slider's row: what it shows as data, and where things lie on it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len

from tuilab.model.parameters import Integer, LogInteger, Parameter, Value
from tuilab.tui.widgets.look import (
    ACCENT,
    BAD,
    CROSSOVER,
    FAINT,
    FILLED,
    FOCUS,
    MUTED,
    SEPARATOR,
    STRONG,
    TEXT,
    THUMB,
    TRACK,
    WARN,
    Line,
    Run,
    TextStyle,
)
from tuilab.tui.widgets.reach import Reach
from tuilab.tui.widgets.snap_points import cell_of, full, options, short
from tuilab.tui.widgets.wording import fit, width_of

VALUE_WIDTH = 10
HIGH_WIDTH = 5
MIN_TRACK = 8


@dataclass(frozen=True)
class Row:
    """Everything that a slider shows.

    reach: what the other parameters leave. crossover, band: where two arms cross, with its interval.
    typed: the text being typed, null otherwise. message: why something was refused.
    """

    parameter: Parameter
    value: Value
    reach: Reach
    marks: tuple[Value, ...] = ()
    crossover: float | None = None
    band: tuple[float, float] | None = None
    note: str = ""
    message: str = ""
    typed: str | None = None
    focused: bool = False
    label_width: int = 14


@dataclass(frozen=True)
class Places:
    """Where things lie on the row, in columns: the track and its length, the value, the option names."""

    track: int
    cells: int
    value: tuple[int, int]
    names: tuple[tuple[int, int, Value], ...] = ()


def draw(row: Row, width: int) -> tuple[Line, Places]:
    """The row in `width` cells."""
    label_width = min(row.label_width, max(6, width // 4))
    head: list[Run] = [
        (FOCUS if row.focused else " ", ACCENT),
        (
            fit(row.parameter.label, label_width - 1),
            STRONG if row.focused else TEXT,
        ),
        (" ", TEXT),
        _value_field(row),
    ]
    start = width_of(head) + 1
    room = max(0, width - start)
    value = (1 + label_width, start - 1)
    if isinstance(row.parameter, Integer | LogInteger):
        body, places = _number(row, room, start, value)
    else:
        body, places = _choice(row, room, start, value)
    text = row.message or _hint(row)
    if text:
        body = _with_message(body, text, BAD if row.message else MUTED, room)
    return (*head, (" ", TEXT), *body), places


def _value_field(row: Row) -> Run:
    unit = getattr(row.parameter, "unit", "")
    if row.typed is not None:
        return fit((row.typed + "▏")[-VALUE_WIDTH:], VALUE_WIDTH, "right"), TextStyle("text", reverse=True)
    text = full(row.value) + (f" {unit}" if unit else "")
    return fit(text, VALUE_WIDTH, "right"), STRONG


def _hint(row: Row) -> str:
    if row.typed is None:
        return ""
    if isinstance(row.parameter, Integer | LogInteger):
        binary = isinstance(row.parameter, LogInteger) and row.parameter.binary and row.reach.high >= 4096
        example = ", 4k = 4,096" if binary else ""
        return f"{row.reach.low:,} to {row.reach.high:,}{example}; Enter sets, Esc leaves"
    return "Enter sets, Esc leaves"


def _with_message(body: list[Run], text: str, style: TextStyle, room: int) -> list[Run]:
    """The message behind the track where it fits there, else over it."""
    end = next((i for i, (piece, _) in enumerate(body) if piece == "┫"), len(body) - 1)
    kept = body[: end + 1]
    left = room - width_of(kept) - 1
    if left >= cell_len(text):
        return [*kept, (" " + text, style)]
    return [(fit(text, room), style)]


def right_width(room: int) -> int:
    """Cells behind a number's track for the upper end and the note. A function of the room: rows align."""
    if room < 24:
        return 0
    return 1 + HIGH_WIDTH + (0 if room < 44 else 1 + min(26, room // 3))


def _number(row: Row, room: int, start: int, value: tuple[int, int]) -> tuple[list[Run], Places]:
    right = right_width(room)
    cells = room - right - 2
    if cells < MIN_TRACK:
        return [(fit(row.note, room), MUTED)], Places(start, 0, value)
    body: list[Run] = [("┣", MUTED), *_runs(_number_track(row, cells)), ("┫", MUTED)]
    if right:
        high = short(row.parameter.high, binary=getattr(row.parameter, "binary", False))  # type: ignore[union-attr]
        body.append((" " + fit(high, HIGH_WIDTH, "left"), MUTED))
        body.append((fit(" " + row.note, right - 1 - HIGH_WIDTH), MUTED))
    return body, Places(start + 1, cells, value)


def _number_track(row: Row, cells: int) -> list[Run]:
    parameter = row.parameter
    at = cell_of(parameter, row.value, cells)
    first, last = cell_of(parameter, row.reach.low, cells), cell_of(parameter, row.reach.high, cells)
    track: list[Run] = []
    for cell in range(cells):
        if not first <= cell <= last:
            track.append(("╌", FAINT))
        else:
            track.append((FILLED, ACCENT) if cell < at else (TRACK, MUTED))
    if row.band:
        low, high = (cell_of(parameter, round(end), cells) for end in row.band)
        for cell in range(low, high + 1):
            track[cell] = ("═", WARN)
    marked = {cell_of(parameter, mark, cells) for mark in row.marks}
    for cell in marked:
        track[cell] = ("•", TEXT)
    if row.crossover is not None:
        track[cell_of(parameter, round(row.crossover), cells)] = (
            CROSSOVER,
            TextStyle("warn", bold=True),
        )
    thumb = "◉" if row.value in row.marks else THUMB
    track[at] = (thumb, TextStyle("accent", bold=True) if row.focused else STRONG)
    return track


def _choice(row: Row, room: int, start: int, value: tuple[int, int]) -> tuple[list[Run], Places]:
    stops = options(row.parameter)
    names = [short(stop) for stop in stops]
    listed = sum(map(cell_len, names)) + 3 * (len(names) - 1) + 1
    wanted = 6 * (len(stops) - 1) + 1
    cells = min(wanted, room - 2 - listed)
    first, behind = 0, len(stops)
    if cells < len(stops):
        # No room for a track beside the names: the names alone are stops enough, those about the chosen one.
        cells = 0
        if listed > room:
            first, behind = around([cell_len(name) for name in names], stops.index(row.value), room)
    body: list[Run] = []
    if cells:
        body = [("┣", MUTED), *_runs(_choice_track(row, stops, cells)), ("┫", MUTED)]
    places: list[tuple[int, int, Value]] = []
    column = start + width_of(body)
    if first:
        body.append((" …", FAINT))
        column += 2
    for index, (stop, name) in enumerate(zip(stops[first:behind], names[first:behind], strict=True)):
        gap = f" {SEPARATOR} " if index else " "
        style = STRONG if stop == row.value else MUTED
        body += [(gap, FAINT), (name, style)]
        column += cell_len(gap)
        places.append((column, column + cell_len(name), stop))
        column += cell_len(name)
    if behind < len(stops):
        body.append((" …", FAINT))
    left = room - width_of(body)
    if row.note and left > 4:
        body.append((fit("  " + row.note, left), MUTED))
    return body, Places(start + 1, cells, value, tuple(places))


def around(widths: Sequence[int], at: int, room: int) -> tuple[int, int]:
    """The places from the first to behind the last name listed in `room` cells, that at `at` among them."""

    def cells(first: int, behind: int) -> int:
        cut = 2 * (first > 0) + 2 * (behind < len(widths))
        return sum(widths[first:behind]) + 3 * (behind - first - 1) + 1 + cut

    first, behind = at, at + 1
    while True:
        wider = [(first, behind + 1)] * (behind < len(widths)) + [(first - 1, behind)] * (first > 0)
        able = [ends for ends in wider if cells(*ends) <= room]
        if not able:
            return first, behind
        first, behind = min(able, key=lambda ends: abs(ends[0] + ends[1] - 1 - 2 * at))


def _choice_track(row: Row, stops: tuple[Value, ...], cells: int) -> list[Run]:
    track: list[Run] = [(TRACK, MUTED)] * cells
    for stop in stops:
        track[cell_of(row.parameter, stop, cells)] = (
            "•" if stop in row.marks else "┴",
            MUTED,
        )
    thumb = "◉" if row.value in row.marks else THUMB
    style = TextStyle("accent", bold=True) if row.focused else STRONG
    track[cell_of(row.parameter, row.value, cells)] = (thumb, style)
    return track


def _runs(cells: list[Run]) -> list[Run]:
    """Cells of the same style joined into one piece."""
    groups = groupby(cells, key=lambda cell: cell[1])
    return [("".join(text for text, _ in group), style) for style, group in groups]
