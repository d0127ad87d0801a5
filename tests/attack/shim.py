"""Calls of the system that fail on purpose: the program that plays trials, as tests ask it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FOREVER = 2**40
KILLED, HALF, CUT, GROWN = -1, -2, -3, -4
"""In place of an errno: the process is killed; half is written; the file is cut, or grows, before it is read."""


@dataclass(frozen=True)
class Outcome:
    """code: what the command ended with, "hang" where it did not. calls: how many there were of that kind.

    stays: something that it started has not ended.
    """

    code: int | str
    calls: int
    said: str
    stays: bool


class Faulty:
    """Plays commands whose calls fail. Skips the test where no C compiler is."""

    def __init__(self, folder: Path) -> None:
        compiler = shutil.which("gcc")
        if compiler is None or sys.platform != "linux":
            pytest.skip("a C compiler on Linux makes the calls fail")
        self.folder = folder
        library = folder / "faulty.so"
        build = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "faulty.c"), "-ldl"]
        subprocess.run(build, check=True)
        self._said = (folder / "said").open("wb")
        self._program = subprocess.Popen(
            [sys.executable, str(HERE / "faulted.py")],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(HERE.parents[1])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def play(
        self,
        words: Sequence[str],
        fault: tuple[str, int, int, int] = ("", 0, 0, 0),
        *,
        below: Path,
        folder: Path | None = None,
        worker: Sequence[str] = (),
        in_worker: bool = False,
        stdout: Path | None = None,
        seconds: float = 30.0,
        **environment: str,
    ) -> Outcome:
        """A command in which some calls fail. fault: the kind, from which call on, how many, with which errno.

        below: the files that count. folder: where it is called. in_worker: they fail in the worker alone.
        stdout: where what is printed goes, beside what is said.
        """
        out, seen = self.folder / "out", self.folder / "seen"
        if in_worker:
            seen.unlink(missing_ok=True)
            kind, *rest = fault
            settings = f"TUILAB_FAULT={kind or '-'} {' '.join(map(str, rest))} {below}"
            worker, fault = ["env", settings, f"TUILAB_FAULT_SEEN={seen}", *worker], ("", 0, 0, 0)
        told: dict[str, Any] = {
            "words": list(words), "fault": list(fault), "place": str(below), "out": str(out), "worker": list(worker),
            "environment": environment, "folder": str(folder or self.folder), "seconds": seconds,
            "stdout": str(stdout or ""),
        }  # fmt: skip
        assert self._program.stdin is not None and self._program.stdout is not None
        self._program.stdin.write(json.dumps(told).encode() + b"\n")
        self._program.stdin.flush()
        line = self._program.stdout.readline()
        assert line, (self.folder / "said").read_text()
        answer = json.loads(line)
        calls = answer["calls"]
        if in_worker:
            calls = int.from_bytes(seen.read_bytes(), sys.byteorder) if seen.exists() else 0
        return Outcome(answer["code"], calls, out.read_text(errors="replace"), answer["stays"])

    def close(self) -> None:
        """End it."""
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(30)
        self._said.close()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory):
    """One for a file of tests."""
    some = Faulty(tmp_path_factory.mktemp("faulty"))
    yield some
    some.close()
