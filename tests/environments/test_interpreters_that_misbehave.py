"""Interpreters that print without end, hang, or leave children behind: tuilab limits their output and
time, and no process is left.
"""

import time
from pathlib import Path

import pytest

from tuilab import interpreter, processes
from tuilab.model.errors import InputError

ANSWER = '{"python": [3, 11, 0], "folder": "/x", "path": [], "tensorflow": "2.18.0"}'


def script(folder: Path, body: str) -> str:
    place = folder / "python"
    place.write_text(f"#!/bin/sh\n{body}\n")
    place.chmod(0o755)
    return str(place)


def left(word: str) -> list[str]:
    found = []
    for process in processes.descendants(1):
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if word in line.split("\0"):
            found.append(line)
    return found


def test_endless_output_is_cut_off(tmp_path, monkeypatch):
    began = time.monotonic()
    monkeypatch.setattr(interpreter, "LOOK_S", 60.0)
    with pytest.raises(InputError, match="prints less than"):
        interpreter.look(script(tmp_path, "exec yes"))
    assert time.monotonic() - began < interpreter.LOOK_S / 2


@pytest.mark.smoke
def test_program_that_sleeps_is_ended_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter, "LOOK_S", 0.5)
    with pytest.raises(InputError, match="answers within"):
        interpreter.look(script(tmp_path, "sleep 7654 & setsid sleep 7654 & sleep 7654"))
    assert left("7654") == []


def test_a_child_that_holds_the_pipe_does_not_delay_the_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreter, "LOOK_S", 60.0)
    began = time.monotonic()
    known = interpreter.look(script(tmp_path, f"sleep 7655 &\nsetsid sleep 7655 &\necho '{ANSWER}'"))
    assert known["tensorflow"] == "2.18.0"
    assert time.monotonic() - began < interpreter.LOOK_S / 2
    assert left("7655") == []
