"""Random bytes arrive on the lab's terminal during a run. The lab survives, and the run has all its rounds.

The test is short by default; `--long` sends two thousand inputs and two thousand mouse reports. No input ends
the lab or the run.
"""

import random
import sys

import pytest

from tests.attack.test_attack import PROGRAM, linux, rounds_of
from tests.terminal.lab import environment
from tests.terminal.terminal import Terminal
from tests.terminal.test_input import send

pytestmark = [pytest.mark.terminal, linux]
PIECES = [
    b"\x1b[", b"\x1b]", b"\x1bP", b"\x1b_", b"\x1bO", b"\x1b[?", b"\x1b[>", b"\x1b[200~", b"\x1b[201~", b"\x9b", b"\x9d",
    b"\x1b[<35;10;10M", b"\x1b[<35;99999;99999M", b"\x1b[<;;M", b"\x1b[M\xff\xff\xff",
    b"\x1b\\", b"\x1b[I", b"\x1b[O", b"\x1b[1;1R", b"\x1b[99999999999999999999A", b"\x1b[;;;;;;m", b"\xc3", b"\xe2\x82",
    b"\xf0\x9f\x98", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x00", b"12", b";;", b"$", b"#", b"%", b"~",
]  # fmt: skip


def strings(rng: random.Random, count: int):
    """Yield incomplete sequences and random bytes, without letters and control keys."""
    harmless = bytes([*range(0x80, 0x100), *b"123456789;:~$#%&"])
    for _ in range(count):
        pieces = [
            rng.choice(PIECES) if rng.random() < 0.6 else bytes(rng.choices(harmless, k=rng.randint(1, 40)))
            for _ in range(rng.randint(1, 6))
        ]
        # end an open sequence, which would otherwise swallow the next input or become a key
        yield b"".join(pieces) + b"\x1b\\"


def mouse(rng: random.Random, count: int):
    """Yield mouse reports in groups of fifty: moves and wheel turns anywhere, presses and drags over the
    plot, invalid reports.
    """
    for _ in range(count):
        reports = []
        for _ in range(50):
            x, y = rng.choice([rng.randint(1, 120), rng.randint(-5, 10_000)]), rng.randint(1, 45)
            kind = rng.randrange(6)
            if kind < 2:
                button, end = rng.choice([32, 35, 35, 39, 43, 51]), "M"
            elif kind == 2:
                button, end = rng.choice([64, 65, 66, 67, 68, 80]), "M"
            elif kind == 3:
                button, end, x, y = (
                    rng.choice([0, 1, 2, 32, 33]),
                    rng.choice("Mm"),
                    rng.randint(50, 115),
                    rng.randint(9, 24),
                )
            elif kind == 4:
                button, end = rng.choice([35, 3, 128, 255, 2**31]), "m"
            else:
                reports.append(
                    rng.choice(["\x1b[<;;M", "\x1b[<0;0;0m", "\x1b[<35;1M", "\x1b[<x;1;1M", "\x1b[<35;1;1"])
                )
                continue
            reports.append(f"\x1b[<{button};{x};{y}{end}")
        yield "".join(reports).encode() + b"\x1b\\"


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("storm", [strings, pytest.param(mouse, marks=pytest.mark.long)])
def test_random_input_leaves_the_lab_and_the_run_intact(tmp_path, request, storm):
    count = 2_000 if request.config.getoption("--long") else 150
    rounds = 12_000 if count > 1_000 else 1_500
    (tmp_path / "home").mkdir()
    truth, data = tmp_path / "truth", tmp_path / "home"
    env = environment(data, ATTACK_ROUNDS=str(rounds), XDG_STATE_HOME=str(tmp_path / "state"))
    words = [sys.executable, PROGRAM, "0.003", str(truth), "--preset", "stft-small"]
    terminal = Terminal(words, env, cwd=str(tmp_path))
    rng, sent = random.Random(32), 0
    try:
        terminal.see("ready", seconds=120)
        terminal.press("r")
        terminal.until(lambda: list(tmp_path.glob("truth.*")), 120)
        (measured,) = tmp_path.glob("truth.*")
        for data_sent in storm(rng, count):
            send(terminal, data_sent)
            sent += len(data_sent)
            # let the lab measure between two inputs
            begun = measured.stat().st_size
            terminal.until(lambda begun=begun: measured.stat().st_size > begun or begun == rounds, 60)
            assert terminal.process.poll() is None, terminal.last_words
        terminal.until(lambda: measured.stat().st_size == rounds, 600, "all rounds measured")
        run = measured.name.partition(".")[2]
        terminal.until(lambda: rounds_of(data).get(run) == rounds, 120, "all rounds kept")
        assert terminal.process.poll() is None and b"Traceback" not in bytes(terminal.sent)
        terminal.resize(110, 38)
        terminal.until(lambda: "Small STFT" in terminal.text, 60, "it draws")
    finally:
        terminal.close()
    print(
        f"{storm.__name__}: {count:,} strings, {sent:,} bytes, {rounds:,} of {rounds:,} rounds, 0 lost, 0 tracebacks"
    )
