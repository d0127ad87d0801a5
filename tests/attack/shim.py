"""Makes system calls fail. The tests use this module; `faulted.py` runs the trials."""

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
"""Values in place of an errno. In this order: kill the process, write only half of the data, truncate the
file before it is read, and extend the file before it is read.
"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial.

    code: the command's exit code, or "hang". calls: number of system calls of the kind that was made to fail.
    stays: True if a process of the command is still running.
    """

    code: int | str
    calls: int
    said: str
    stays: bool


class Faulty:
    """Runs commands whose system calls fail. Skips the test if there is no C compiler."""

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
        """Run a command in which some system calls fail; return the outcome.

        fault: the kind of call, the number of the first call that fails, the number of failing calls, and the
        errno. below: count only calls on files below this folder. folder: the working directory. in_worker:
        only calls of the worker fail. stdout: another file for the output.
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
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(30)
        self._said.close()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory):
    some = Faulty(tmp_path_factory.mktemp("faulty"))
    yield some
    some.close()
