"""The real worker with user functions that fail, hang and crash in TensorFlow."""

import signal
import sys
import time
from pathlib import Path

import pytest

from tests.faults.faults import found_again, gone_alone, reacts
from tests.faults.trial import REACTS_S, Trial, trial
from tests.terminal.terminal import Terminal

pytestmark = [pytest.mark.terminal, pytest.mark.real_worker]
OWN = Path(__file__).with_name("own_faults.py")
MEASURED_S = 60.0
"""Maximum time for a restart of TensorFlow and a measurement. Not a guarantee to users."""


def hurries(terminal: Terminal) -> None:
    terminal.see("quick", seconds=REACTS_S)


def opens(terminal: Terminal, name: str) -> None:
    terminal.press("o")
    terminal.see("─ Open ─", seconds=REACTS_S)
    terminal.press(f"{OWN}:{name}")
    terminal.press("\r")


def ends(made: Trial, terminal: Terminal) -> None:
    terminal.press("q")
    assert terminal.ended(REACTS_S) == 0
    assert not made.alone()
    # The log may contain tracebacks of user code. The lab prints its own tracebacks below its screen.
    assert not any("Traceback" in each.last_words for each in made.terminals)


def test_failures_in_tensorflow_are_reported_and_the_lab_continues(tmp_path):
    with trial(tmp_path / "t") as made:
        terminal = made.program([sys.executable, "-m", "tuilab", "--preset", "stft-small"])
        terminal.see("ready", seconds=MEASURED_S)
        hurries(terminal)
        opens(terminal, "segfault")
        terminal.see("the worker was killed by SIGSEGV", seconds=MEASURED_S)
        reacts(terminal)
        opens(terminal, "sound")
        terminal.see("done,", "CPU eager", seconds=MEASURED_S)
        opens(terminal, "no_device_memory")
        terminal.see("Nothing was measured", seconds=MEASURED_S)
        terminal.press("9")
        terminal.see("ResourceExhaustedError", "OOM when allocating tensor", seconds=REACTS_S)
        ends(made, terminal)
        assert len(made.kept()) >= 3


@pytest.mark.long
@pytest.mark.parametrize("how", ["hang", "hang_hard"])
def test_a_call_that_does_not_return_is_stopped(tmp_path, how):
    with trial(tmp_path / "t") as made:
        terminal = made.program([sys.executable, "-m", "tuilab", "--preset", f"{OWN}:{how}"])
        terminal.see("x stops", "Placement", seconds=MEASURED_S)
        terminal.see("warming up", seconds=MEASURED_S)
        time.sleep(1.0)
        reacts(terminal)
        terminal.press("x")
        terminal.see("stopped", seconds=REACTS_S)
        hurries(terminal)
        opens(terminal, "sound")
        terminal.see("done,", "CPU eager", seconds=MEASURED_S)
        ends(made, terminal)


@pytest.mark.smoke
def test_kill_9_of_the_lab_loses_no_round(tmp_path):
    with trial(tmp_path / "t") as made:
        terminal = made.program([sys.executable, "-m", "tuilab", "--preset", f"{OWN}:restless"])
        terminal.see("round", "x stops", seconds=MEASURED_S)
        terminal.see("CPU eager", seconds=MEASURED_S)
        terminal.signal(signal.SIGKILL)
        terminal.ended()
        spool = made.data / "spool"
        reported = [file.read_bytes().count(b'"type":"round"') for file in spool.glob("*.*t")]
        gone_alone(made)
        again = found_again(made, "in the history")
        (rounds,) = made.kept().values()
        assert len(rounds) >= max(reported, default=1)
        ends(made, again)
