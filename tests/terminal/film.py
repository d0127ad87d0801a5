"""Films of the lab, used by keys in a terminal: `python -m tests.terminal.film`.

Uses the runs in tests/recordings, and a watched program with synthetic events. Each film becomes an asciinema
recording (version 2) and a picture of its end in tests/pictures. A film shows the terminal each time the lab
is idle. Its durations are fixed here, so that it is the same on every machine.
"""

import asyncio
import io
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.terminal.lab import environment, opened
from tests.terminal.terminal import Terminal
from tests.tui.recorded import PICTURES, ROOT, RecordedRunner, events_of
from tuilab.model.events import Round, RunStarted
from tuilab.model.requests import Measure

SIZE = (120, 36)
PRESETS = ("stft-small", "stft-crossover")
ROUNDS = 7
SOME, ALL = signal.SIGUSR1, signal.SIGUSR2
"""Signals that release some rounds, or all remaining ones."""
SETTLED_S = 0.3


@dataclass(frozen=True)
class Step:
    said: str
    keys: str = ""
    see: tuple[str, ...] = ()
    seconds: float = 2.0
    rounds: int = 0
    """The signal that releases rounds: SOME, ALL, or 0 for none."""


FILMS: dict[str, tuple[Step, ...]] = {
    "first-minute": (
        Step("open the lab", see=("ready",), seconds=3),
        Step("enter: measure the preset", "\r", ("warming up", "50 block"), 2),
        *(Step("samples arrive", rounds=SOME, seconds=1, see=(f"round {n}",)) for n in (ROUNDS, 2 * ROUNDS)),
        Step("the answer", rounds=ALL, see=("done,",), seconds=4),
        Step("c: compare", "c", ("fastest",), 3),
        Step("4: where the time goes", "4", ("dispatch", "compute"), 3),
        Step("6: which op ran where", "6", ("CPU:0", "ops"), 3),
        Step("d: the claim and its verdict", "d", ("Claim 1", "document 000"), 4),
        Step("A: the whole answer", "A", ("Certainty",), 5),
    ),
    "sweep-by-hand": (
        Step("the second preset", "j", ("overtakes",), 2),
        Step("enter: sweep over its sizes", "\r", ("x stops",), 1),
        Step("the curves", rounds=ALL, see=("done,",), seconds=3),
        Step("tab: to the curve", "\t", (), 1),
        *(Step("left: along the curve", "\x1b[D", ("At ", "CPU graph takes"), 1.2) for _ in range(4)),
        *(Step("right: and back", "\x1b[C", ("At ", "CPU graph takes"), 1.5) for _ in range(3)),
    ),
    "fact-check": (
        Step("open the lab", see=("ready",), seconds=2),
        Step("F: measure every claim of the article", "F", ("0 of 2 measured",), 2),
        Step("the first claim", rounds=ALL, see=("1 untestable here",), seconds=3),
        Step("the second", rounds=ALL, see=("2 untestable here", "Measured on"), seconds=6),
    ),
    "watched-program": (
        Step("tuilab watch train.py", see=("not imported TensorFlow",), seconds=3),
        Step("its steps are timed", rounds=SOME, see=("a Keras step takes",), seconds=3),
        Step("a window is read: what to change, and where", rounds=ALL, see=("fixing it saves",), seconds=4),
        Step("2: the parts of a step", "2", ("dispatch",), 3),
        Step("3: its ops, with lines and reasons", "3", ("Conv2D",), 3),
        Step("5: what the input waits for", "5", (".map(decode)",), 3),
        Step("A: the whole page", "A", ("change:",), 5),
    ),
}
WATCHED = "watched-program"


Line = list[tuple[str, Char]]


def lines_of(screen: pyte.Screen) -> list[Line]:
    """Return the terminal's lines, each as a list of pieces in the same style."""
    out = []
    for y in range(screen.lines):
        cells = [screen.buffer[y][x] for x in range(screen.columns)]
        groups = groupby(cells, key=lambda cell: cell._replace(data=""))
        out.append([("".join(cell.data for cell in group), look) for look, group in groups])
    return out


def film(
    name: str, rest: Callable[[Terminal, int], None] = lambda terminal, step: settle(terminal)
) -> list[tuple[Step, list[Line]]]:
    """Play the film in a terminal. Returns the screen after each step. rest: waits until the picture of a
    step is complete.
    """
    out = []
    with tempfile.TemporaryDirectory() as home:
        way, sign = ("--watched", "running") if name == WATCHED else ("--lab", "ready")
        command = (sys.executable, "-m", "tests.terminal.film", way)
        env = environment(Path(home), COLORTERM="truecolor")
        with opened(Path(home), SIZE, command=command, env=env) as terminal:
            terminal.see(sign)
            for number, step in enumerate(FILMS[name]):
                terminal.press(step.keys)
                if step.rounds:
                    terminal.signal(step.rounds)
                terminal.see(*step.see)
                rest(terminal, number)
                out.append((step, lines_of(terminal.screen)))
    return out


def settle(terminal: Terminal) -> None:
    """Wait until no more output arrives. Otherwise a picture could be incomplete."""
    while True:
        before = len(terminal.sent)
        try:
            terminal.until(lambda sent=before: len(terminal.sent) > sent, SETTLED_S)
        except TimeoutError:
            return


def cast(title: str, frames: Sequence[tuple[Step, list[Line]]]) -> Iterator[str]:
    yield json.dumps({"version": 2, "width": SIZE[0], "height": SIZE[1], "title": title})
    at, before = 0.0, [[] for _ in range(SIZE[1])]  # type: list[Line]
    for step, now in frames:
        changed = (
            f"\x1b[{y};1H" + "".join(sgr(look) + text for text, look in line)
            for y, (line, old) in enumerate(zip(now, before, strict=True), 1)
            if line != old
        )
        yield json.dumps([round(at, 2), "m", step.said], ensure_ascii=False)
        start = "\x1b[?25l\x1b[2J" if at == 0 else ""
        yield json.dumps([round(at, 2), "o", start + "".join(changed) + "\x1b[0m"], ensure_ascii=False)
        at, before = at + step.seconds, now
    yield json.dumps([round(at, 2), "o", ""])


def sgr(look: Char) -> str:
    words = ["0"]
    looks = {
        "1": look.bold,
        "3": look.italics,
        "4": look.underscore,
        "7": look.reverse,
        "9": look.strikethrough,
    }
    words += [word for word, on in looks.items() if on]
    for first, color in (("38", look.fg), ("48", look.bg)):
        if len(color) == 6:
            words.append(f"{first};2;" + ";".join(str(int(color[i : i + 2], 16)) for i in (0, 2, 4)))
    return f"\x1b[{';'.join(words)}m"


def svg(title: str, shown: Sequence[Line]) -> str:
    console = Console(
        file=io.StringIO(), record=True, width=SIZE[0], force_terminal=True, color_system="truecolor"
    )
    for line in shown:
        text = Text(no_wrap=True, end="\n")
        for piece, look in line:
            color, ground = (f"#{c}" if len(c) == 6 else None for c in (look.fg, look.bg))
            text.append(piece, Style(color=color, bgcolor=ground, bold=look.bold, reverse=look.reverse))
        console.print(text)
    return console.export_svg(title=title)


class FilmRunner(RecordedRunner):
    """Plays the recorded runs at a pace that viewers can follow. The film's signals release the rounds."""

    async def start(self) -> None:
        self._left, self._more = 0, asyncio.Event()
        for number, rounds in ((SOME, ROUNDS), (ALL, 1_000_000)):
            asyncio.get_running_loop().add_signal_handler(number, self._let, rounds)
        await super().start()

    def _let(self, rounds: int) -> None:
        self._left = rounds
        self._more.set()

    async def _play(self, request: Measure) -> None:
        for batch in self._batches(request):
            for event in batch:
                if isinstance(event, Round):
                    while not self._left:
                        self._more.clear()
                        await self._more.wait()
                    self._left -= 1
                self._on_event(event)
                if self._left <= ROUNDS:
                    await asyncio.sleep(0)
            await asyncio.sleep(0)
        self._left = 0


def lab() -> int:
    from tuilab.history.store import Store
    from tuilab.lab.state import LabState
    from tuilab.presentation.painter import Pacing
    from tuilab.tui.app import run
    from tuilab.tui.options import Options

    # Paint every report: axes only grow, so skipping reports could change their final size.
    Pacing.wait = lambda self, elapsed_s, rounds: 0.0  # type: ignore[method-assign]
    machine = next(e for e in events_of("run") if isinstance(e, RunStarted)).machine
    with tempfile.TemporaryDirectory() as folder:
        presets = Path(folder) / "presets"
        presets.mkdir()
        for name in PRESETS:
            shutil.copy(ROOT / "presets" / f"{name}.toml", presets)
        return run(
            Options(
                presets=(presets,),
                newcomer=False,
                theme="dark",
                lab_state=lambda: LabState(clock=lambda: 100.0),
                runner=lambda on_event: FilmRunner(on_event, machine),
                store=lambda: Store.open(Path(folder) / "history"),
            )
        )


def watched_program() -> int:
    """Show the screen of `tuilab watch` in this terminal. Signals release the watched program's events."""
    from tests.tui import watched
    from tuilab.lab.watch import Watching
    from tuilab.tui.app import run
    from tuilab.tui.options import Options

    made = watched.watching(setattr, b"Epoch 1/3\r\n")

    def when(number: int, tells: Callable[[Watching], None]) -> None:
        def heard(*_: object) -> None:
            asyncio.get_running_loop().call_soon_threadsafe(tells, made)

        signal.signal(number, heard)

    when(SOME, watched.hear)
    when(ALL, watched.look)
    return run(Options(watching=made, newcomer=False, theme="dark"))


def main() -> None:
    for name in sys.argv[1:] or FILMS:
        frames = film(name)
        title = f"tuilab: {name.replace('-', ' ')}"
        (PICTURES / f"{name}.cast").write_text("\n".join(cast(title, frames)) + "\n", encoding="utf-8")
        (PICTURES / f"film-{name}.svg").write_text(svg(title, frames[-1][1]), encoding="utf-8")


if __name__ == "__main__":
    ways = {"--lab": lab, "--watched": watched_program}
    way = ways.get(" ".join(sys.argv[1:]))
    sys.exit(way()) if way else main()
