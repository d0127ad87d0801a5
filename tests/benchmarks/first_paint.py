"""Measures the time from the command to the first paint, alternating with a bare Textual app and with
other programs, if installed.
"""

import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable

from tests.benchmarks.budget import Row, below, spread
from tests.benchmarks.terminal import LAB, PATIENCE_S, program
from tuilab import catalogue

PAIRS = 15
LIMIT, LIMIT_TITLES = 1.15, 1.3
BARE = """
from textual.app import App
from textual.widgets import Footer, Header, Static
class Bare(App):
    def compose(self):
        yield Header()
        yield Static("one line")
        yield Footer()
Bare().run()
"""
PEERS = {"harlequin": (("harlequin",), "Catalog"), "toolong": (("tl", "LICENSE"), "MIT")}
"""Each program's command, and a word on its first screen. Commands are looked up in the folders of
TUILAB_PEERS, by default in PATH.
"""
PEER_S = 20.0
HOW = "time from the command to the first word on the screen, median of the ratios of pairs run in turn"
HOW_TITLES = "the same, to the title of the first preset: at a start like the last one, and at a first start"


def paint(
    command: tuple[str, ...], words: tuple[str, ...], seconds: float = PATIENCE_S, state: str = ""
) -> list[float]:
    with program(command, state=state) as terminal:
        return [terminal.arrival(word, seconds) - terminal.begun for word in words]


def measure() -> list[Row]:
    """Return rows for the times until the lab paints its first word and its presets, until the bare Textual
    app paints, and until the other programs paint.
    """
    title = catalogue.load().presets[0].title[:16]
    with tempfile.TemporaryDirectory() as state:
        sides: dict[str, Callable[[], list[float]]] = {
            "bare": lambda: paint((sys.executable, "-c", BARE), ("one line",)),
            "ours": lambda: paint(LAB, ("Presets", title), state=state),
            "first": lambda: paint(LAB, (title,)),
        }
        for side in sides.values():
            side()  # from here on, files are cached and titles are saved
        took: dict[str, list[list[float]]] = {name: [] for name in sides}
        for number in range(PAIRS):
            for name in list(sides)[:: 1 if number % 2 else -1]:
                took[name].append(sides[name]())
    bare = [b for (b,) in took["bare"]]
    rows = []
    for budget, values, limit, how in (
        ("first paint", [word for word, _ in took["ours"]], LIMIT, HOW),
        ("preset titles", [shown for _, shown in took["ours"]], LIMIT_TITLES, HOW_TITLES),
        (
            "preset titles at a first start",
            [shown for (shown,) in took["first"]],
            LIMIT_TITLES,
            HOW_TITLES,
        ),
    ):
        ratios = [a / b for a, b in zip(values, bare, strict=True)]
        detail = {"ours_s": spread(values), "bare_s": spread(bare), "ratios": spread(ratios)}
        rows.append(
            below(f"{budget} / bare Textual app", statistics.median(ratios), limit, "×", how, **detail)
        )
    where = os.environ.get("TUILAB_PEERS")
    for name, ((command, *rest), word) in PEERS.items():
        found = shutil.which(command, path=where)
        if found:
            try:
                took = [paint((found, *rest), (word,), PEER_S)[0] / b for b in bare[:5]]
                shown = f"{statistics.median(took):.2f}×"
            except TimeoutError:
                shown = "does not start"
            rows.append(Row(f"first paint / bare: {name}", "–", shown, None, "the same, for comparison"))
    return rows
