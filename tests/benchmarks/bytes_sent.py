"""Counts the bytes sent to the terminal: at startup, on an idle screen, during a live run, and for moves
of a slider, the cursor or the focus.
"""

import statistics
import time

from tests.benchmarks.budget import Row, below, quantile
from tests.benchmarks.terminal import Terminal, lab

PRESET = "stft-medium"
STILL_S, LIVE_S = 10.0, 25.0
LIMIT_LIVE = {"truecolor": 16_000, "256": 16_000}
LIMIT_STEP = 4_000
LIMIT_START, LIMIT_CURSOR, LIMIT_FOCUS = 140_000, 8_000, 32_000
TAB, DOWN, UP = "\t", "\x1b[B", "\x1b[A"


def rounds(terminal: Terminal) -> bool:
    first = terminal.text.splitlines()[0]
    return "round " in first or "measuring," in first


def opened(terminal: Terminal) -> None:
    terminal.see("ready, r measures")
    terminal.settle(1.0)


def longer(terminal: Terminal) -> None:
    for budget in ("standard,", "publish,"):
        terminal.press("b")
        terminal.see(budget)
    terminal.settle(0.5)


def live(terminal: Terminal) -> float:
    """Return the bytes per second of a live run, from the key press to the end of the run, or for
    `LIVE_S` seconds after the first round.
    """
    before, begun = terminal.sent, terminal.press("r")
    terminal.until(lambda: rounds(terminal), what="rounds")
    try:
        end = terminal.see("done,", seconds=LIVE_S)
    except TimeoutError:
        end = time.monotonic()
    return (terminal.sent - before) / (end - begun)


def drag(terminal: Terminal) -> list[int]:
    """Return the number of bytes sent for each step of a drag along the first slider."""
    lines = terminal.text.splitlines()
    y = next(i for i, line in enumerate(lines) if "┣" in line)
    left, right = lines[y].index("┣") + 2, lines[y].index("┫")
    terminal.press(f"\x1b[<0;{left + 4};{y + 1}M")
    terminal.settle(1.5)
    took = []
    for x in range(left + 5, min(left + 25, right)):
        before = terminal.sent
        terminal.press(f"\x1b[<32;{x};{y + 1}M")
        time.sleep(0.2)
        took.append(terminal.sent - before)
    terminal.press(f"\x1b[<0;{right - 2};{y + 1}m")
    return took


def keys(terminal: Terminal, *pressed: str) -> int:
    """Return the number of bytes sent in the two seconds after a key press: the median over the given keys."""
    took = []
    for key in pressed:
        terminal.press(key)
        took.append(terminal.bytes_in(2.0))
    return int(statistics.median(took))


def moves() -> list[Row]:
    """Return rows for the bytes sent at startup, and for moves of the cursor and of the focus."""
    with lab("--preset", PRESET, colors="truecolor") as terminal:
        opened(terminal)
        start = terminal.sent
        cursor, focus = keys(terminal, DOWN, UP, DOWN), keys(terminal, TAB, TAB, TAB)
    return [
        below(
            "bytes, start",
            start / 1e3,
            LIMIT_START / 1e3,
            " kB",
            "from the command until the worker is ready",
        ),
        below(
            "bytes, one step in the list of presets", cursor / 1e3, LIMIT_CURSOR / 1e3, " kB", "an arrow key"
        ),
        below("bytes, moving the focus", focus / 1e3, LIMIT_FOCUS / 1e3, " kB", "tab"),
    ]


def measure() -> list[Row]:
    rows = moves()
    for colors, limit in LIMIT_LIVE.items():
        with lab("--preset", PRESET, colors=colors) as terminal:
            opened(terminal)
            idle = terminal.bytes_in(STILL_S) / STILL_S
            longer(terminal)
            rate = live(terminal)
            terminal.press("x")
            terminal.settle(1.0)
            steps = drag(terminal)
        how = "bytes at the terminal (120 × 40) from the key that begins a run at `publish` rules, over its first 25 s"
        rows.append(below(f"bytes, live run, {colors}", rate / 1e3, limit / 1e3, " kB/s", how))
        if colors == "truecolor":
            rows += [
                below("bytes, idle", idle, 0.0, " B/s", f"bytes in {STILL_S:.0f} s of a still screen", 0),
                below(
                    "bytes, slider step", quantile(steps, 0.95) / 1e3, LIMIT_STEP / 1e3, " kB",
                    "a drag by the mouse, bytes until the screen is still, 95% of the steps",
                    median=statistics.median(steps), most=max(steps),
                ),
            ]  # fmt: skip
    return rows
