"""Signals that the kernel sends with a hangup, and signals by which a shell continues a job."""

import signal
from pathlib import Path

import pytest

from tests.terminal.lab import scripted

pytestmark = pytest.mark.terminal


@pytest.mark.parametrize("ends", ["key", "line"])
def test_a_continue_signal_without_a_stop_changes_nothing(tmp_path: Path, ends: str) -> None:
    """Textual starts an input thread on each SIGCONT. Without a preceding stop, this second thread would
    outlive the lab, and would read forever from a terminal that is gone.
    """
    with scripted(tmp_path) as terminal:
        terminal.see("ready")
        for _ in range(5):
            terminal.signal(signal.SIGCONT)
            terminal.press("?")
            terminal.see(" Help ")
            terminal.press("\x1b")
            terminal.until(lambda: not terminal.shows(" Help "), 10)
        if ends == "key":
            terminal.press("q")
        else:
            terminal.hang_up()
        assert terminal.ended(30) == (0 if ends == "key" else 128 + signal.SIGHUP)
