"""Shows the activity of the host and the devices, one line per figure, with graphs of earlier values
below.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.geometry import Size

from tuilab.model.telemetry import DeviceSample
from tuilab.presentation.devices import UNKNOWN, DeviceReadings, Reading, devices
from tuilab.tui.widgets.line_widget import LineWidget
from tuilab.tui.widgets.look import (
    FAINT,
    LEVELS,
    MUTED,
    SEPARATOR,
    STRONG,
    TEXT,
    VERTICAL,
    WARN,
    Line,
    TextStyle,
    gauge,
)
from tuilab.tui.widgets.wording import clip, fit

LABEL, WORDS = 9, 19
"""Cells for a figure's label, and for its text in front of a bar."""
LONGEST_BAR = 40
LEAST_ROWS = 3
"""Graphs are shown if at least this number of rows is free."""
BESIDE = 80
"""Minimum width for two graphs side by side."""
ORDER = ("use", "memory", "copies", "worker", "power", "clock")
"""Labels of figures, the most important first. If not all graphs fit, the last ones are omitted."""
GAP = ("   ", TEXT)
STYLES = {"CPU": TextStyle("cpu1"), "GPU": TextStyle("gpu1")}


class DevicePanel(LineWidget):
    DEFAULT_CSS = "DevicePanel { height: auto; width: 1fr; }"

    def __init__(self, *, empty: str = "No sample has been taken yet.") -> None:
        super().__init__(empty=empty)
        self._read: dict[float, tuple[DeviceReadings, ...]] = {}
        """Readings of the devices, by time of the sample, newest last."""
        self._notes: tuple[str, ...] = ()

    def show_samples(self, samples: Sequence[DeviceSample]) -> None:
        self._read = {sample.at: self._read.get(sample.at) or devices(sample) for sample in samples}
        self._notes = samples[-1].notes if samples else ()
        if self.get_content_height(self.container_size, self.size, self.size.width) != self.size.height:
            self.refresh(layout=True)
        self.repaint()

    @property
    def _now(self) -> tuple[DeviceReadings, ...]:
        return next(reversed(self._read.values()), ())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.paint(width, container.height))

    def paint(self, width: int, height: int) -> Sequence[Line]:
        if not self._read:
            return self.empty_lines(width, height)
        lines = [line for device in self._now for line in ((), *device_lines(device, width))][1:]
        lines += [((" " + line, MUTED),) for note in self._notes for line in clip(note, max(8, width - 1), 3)]
        room = height - len(lines) - 1
        return [*lines, (), *self._graphs(width, room)] if room >= LEAST_ROWS and width > WORDS else lines

    def _graphs(self, width: int, height: int) -> list[Line]:
        """Return graphs of as many numeric figures as fit."""
        past = dict[tuple[str, str], list[float]]()
        for device in (device for read in self._read.values() for device in read):
            for figure in device.figures:
                if figure.value is not None:
                    past.setdefault((device.name, figure.label), []).append(figure.value)
        drawn = [(d, f) for d in self._now for f in d.figures if (d.name, f.label) in past]
        drawn.sort(key=lambda pair: (ORDER.index(pair[1].label), pair[0].family == "CPU"))
        across = 2 if width >= BESIDE else 1
        down = min(-(-len(drawn) // across), max(1, height // 2))
        wide, rows = (width - 3 * (across - 1)) // across, height // down - 1
        graphs = [graph(d, f, past[d.name, f.label], wide, rows) for d, f in drawn[: down * across]]
        out: list[Line] = []
        for first in range(0, len(graphs), across):
            for row in zip(*graphs[first : first + across], strict=True):
                out.append(tuple(run for line in row for run in (GAP, *line))[1:])
        return out


def device_lines(device: DeviceReadings, width: int) -> Iterator[Line]:
    """Yield the lines of a device: its name, the figures, and the processes that use it."""
    name = device.name.capitalize() if device.family == "CPU" else device.name
    yield (name + " ", STRONG), (fit(device.title, min(width - len(name) - 1, cell_len(device.title))), TEXT)
    for figure in device.figures:
        yield from figure_lines(figure, STYLES[device.family], width)
    for number, line in enumerate(device.processes):
        label = fit("" if number else "on it", LABEL - 1)
        yield (" " + label, MUTED), (fit(line, max(8, width - LABEL)).rstrip(), TEXT if number else MUTED)


def figure_lines(figure: Reading, style: TextStyle, width: int) -> Iterator[Line]:
    """Yield the lines of a figure: label, text and bar (`use 38% of 96 ███┄┄┄┄┄`), or its full text on up to
    three lines.
    """
    label, room = (" " + fit(figure.label, LABEL - 1), MUTED), max(8, width - LABEL)
    if figure.more or figure.value is None or not figure.most:
        tone = WARN if figure.warn else MUTED if figure.words == UNKNOWN else TEXT
        for line in clip(f"  {SEPARATOR}  ".join([figure.words, *figure.more]), room, 3):
            yield label, (line, tone)
            label = (" " * LABEL, MUTED)
        return
    cells = min(LONGEST_BAR, room - WORDS - 1)
    bar = gauge(figure.value / figure.most, cells, style) if cells >= 4 else ()
    yield label, (fit(figure.words, WORDS), STRONG), *bar
    for start in range(0, len(figure.each), room):
        parts = figure.each[start : start + room]
        each = f"{start}-{start + len(parts) - 1}" if len(figure.each) > room else "each"
        yield (" " + fit(each, LABEL - 1), MUTED), ("".join(map(level, parts)), style)


def graph(
    device: DeviceReadings, figure: Reading, past: Sequence[float], width: int, rows: int
) -> list[Line]:
    """Return a heading such as `host use 38%`, and the graph below it: a column for each value, newest on the
    right.
    """
    recent = list(past)[-(width - 2) :]
    most = figure.most or max(recent) or 1.0
    words = fit(figure.words, min(WORDS, width // 2), "right")
    lines: list[Line] = [((fit(f" {device.name} {figure.label}", width - len(words)) + words, MUTED),)]
    blank, style = (" " * (width - 1 - len(recent)), TEXT), STYLES[device.family]
    for row in range(rows, 0, -1):
        cells = "".join(level(value / most * rows - row + 1) for value in recent)
        lines.append((blank, (cells, style), (VERTICAL, FAINT)))
    return lines


def level(share: float) -> str:
    """Return a character whose height shows a share from 0 to 1. A share over 1% is always visible."""
    return LEVELS[max(share > 0.01, round(min(1.0, max(0.0, share)) * (len(LEVELS) - 1)))]
