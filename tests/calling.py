"""Runs `tuilab` as a user or a script would, in a separate process or in this one."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.data_folder import knowing
from tuilab.cli import main as program

TUILAB = (sys.executable, "-m", "tuilab")


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def environment(data: Path, **more: str) -> dict[str, str]:
    """Return the environment variables of a fresh account. data: the folder for data and settings."""
    return {**os.environ, "TUILAB_DATA": knowing(data), "XDG_CONFIG_HOME": str(data), **more}


def begun(data: Path, *words: str, **how: Any) -> "subprocess.Popen[str]":
    how = {"env": environment(data), **how}
    return subprocess.Popen(
        [*TUILAB, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how
    )


def run(data: Path, *words: str, seconds: float = 120, **how: Any) -> Done:
    process = begun(data, *words, **how)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, out, err)


class Stream(io.TextIOWrapper):
    """Captures the output of a command in this process. Is not a terminal."""

    def isatty(self) -> bool:
        return False


def here(*words: str) -> Done:
    """Run the command in this process, which is faster than starting Python. Commands that need a worker
    cannot run here.
    """
    streams = [Stream(io.BytesIO(), "utf-8", "replace", write_through=True) for _ in range(2)]
    code: object = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(streams[0]):
        patch.setattr(sys, "argv", ["tuilab", *words])
        with contextlib.redirect_stderr(streams[1]):
            try:
                program.main()
            except SystemExit as ended:
                code = ended.code
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)
    return Done(int(code or 0) if isinstance(code, int | None) else 1, out, err)
