"""From the command to the first paint, against a bare Textual app, in turn; peers where they are installed."""

import os
import shutil
import statistics
import sys

from tests.benchmarks.budget import Row, below, spread
from tests.benchmarks.terminal import LAB, PATIENCE_S, program

PAIRS = 15
LIMIT = 1.15
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
"""A program's command, and a word of its first screen. TUILAB_PEERS: folders with their commands, else PATH."""
PEER_S = 20.0
HOW = "time from the command to the first word on the screen, median of the ratios of pairs run in turn"


def paint(command: tuple[str, ...], word: str, seconds: float = PATIENCE_S) -> float:
    """Seconds from the command until the word is sent. Raises TimeoutError."""
    with program(command) as terminal:
        return terminal.arrival(word, seconds) - terminal.begun


def measure() -> list[Row]:
    """Ours against bare, and what the peers take."""
    bare_app = ((sys.executable, "-c", BARE), "one line")
    ours, bare = [], []
    paint(*bare_app), paint(LAB, "Presets")  # the files are in memory from here on
    for number in range(PAIRS):
        for side in ("ours", "bare") if number % 2 else ("bare", "ours"):
            (ours if side == "ours" else bare).append(
                paint(*((LAB, "Presets") if side == "ours" else bare_app))
            )
    ratios = [a / b for a, b in zip(ours, bare, strict=True)]
    seconds = {"ours_s": spread(ours), "bare_s": spread(bare), "ratios": spread(ratios)}
    rows = [below("first paint / bare Textual app", statistics.median(ratios), LIMIT, " ×", HOW, **seconds)]
    where = os.environ.get("TUILAB_PEERS")
    for name, ((command, *rest), word) in PEERS.items():
        found = shutil.which(command, path=where)
        if found:
            try:
                took = [paint((found, *rest), word, PEER_S) / b for b in bare[:5]]
                shown = f"{statistics.median(took):.2f} ×"
            except TimeoutError:
                shown = "does not start"
            rows.append(Row(f"first paint / bare: {name}", "–", shown, None, "the same, for comparison"))
    return rows
