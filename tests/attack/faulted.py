"""Commands each of whose calls of the system fails once: `python faulted.py`, with `faulty.c` loaded before it.

Reads trials as JSON lines and answers each with a line: every one is a fork of this process, in which the command
line is loaded already. A trial that does not end is killed and told as a hang.
"""

import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import pkgutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import tuilab
from tuilab.cli import lab
from tuilab.cli import main as program
from tuilab.runner import process, supervisor


def export() -> None:
    """Write a run in every format, as the history's page does."""
    from tuilab.lab.export import write_kept
    from tuilab.lab.history import CancellableProgress, History
    from tuilab.report.formats import FORMATS

    with lab.kept_runs() as kept:
        assert isinstance(kept, History)
        for key in (*FORMATS, "recording"):
            print(write_kept(key, "run1", (), Path("own"), CancellableProgress("Writing"), kept))


def remember() -> None:
    """Change what the lab remembers of a person; where that cannot be, it holds for this time."""
    from tuilab.lab import files

    files.remember_opened("b.py")
    files.keep_command("tuilab run x")


ACTS: dict[str, Callable[[], None]] = {"@export": export, "@remember": remember}
"""What a screen does, without one, as if it were a command."""


def load_commands() -> None:
    """Have what commands load, so that a trial costs some milliseconds."""
    for package in ("cli", "lab", "history", "documents", "report", "analysis", "model"):
        for found in pkgutil.walk_packages(
            [str(Path(tuilab.__file__).parent / package)], f"tuilab.{package}."
        ):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    for name in program.COMMANDS:
        program.cli.get_command(None, name)  # type: ignore[arg-type]


def trial(faulty: ctypes.CDLL, told: dict[str, object]) -> dict[str, object]:
    """The exit code, or "hang", and how many calls of that kind there were."""
    out, counted = Path(str(told["out"])), Path(f"{told['out']}.calls")
    counted.unlink(missing_ok=True)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.environ |= told["environment"]  # type: ignore[operator]
        fd = os.open(out, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        flags = os.O_CREAT | os.O_TRUNC | os.O_WRONLY
        printed = os.open(str(told["stdout"]), flags, 0o600) if told["stdout"] else fd
        for number, one in ((0, nothing), (1, printed), (2, fd)):
            os.dup2(one, number)
        command = told.get("worker")
        for module in (process, supervisor):
            module.local_command = lambda: command  # type: ignore[attr-defined, assignment]
        os.chdir(str(told["folder"]))
        words = list(told["words"])  # type: ignore[call-overload]
        sys.argv = ["tuilab", *words]
        if words[0] in ACTS:
            program.cli.main = lambda **_: ACTS[words[0]]()  # type: ignore[method-assign, assignment]
        kind, at, times, number = told["fault"]  # type: ignore[misc]
        code: object = 99
        faulthandler.dump_traceback_later(float(str(told["seconds"])) - 5, exit=False)
        faulty.fault_arm(str(kind).encode(), at, times, number, os.fsencode(str(told["place"])))  # type: ignore[has-type]
        try:
            program.main()
        except SystemExit as ended:
            code = ended.code
        finally:
            seen = faulty.fault_seen()
            faulty.fault_arm(b"", 0, 0, 0, b"")
            counted.write_text(str(seen))
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()
            os._exit(int(code or 0) if isinstance(code, int | None) else 1)
    until = time.monotonic() + float(str(told["seconds"]))
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            calls = int(counted.read_text()) if counted.exists() else 0  # one that was killed has not told
            return {"code": os.waitstatus_to_exitcode(status), "calls": calls}
        time.sleep(0.002)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"code": "hang", "calls": 0}


def main() -> None:
    """Answer trials until there are no more."""
    load_commands()
    faulty = ctypes.CDLL(os.environ["LD_PRELOAD"])
    faulty.fault_arm.argtypes = [
        ctypes.c_char_p,
        ctypes.c_long,
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
    ]
    faulty.fault_seen.restype = ctypes.c_long
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        os.write(answers, json.dumps(trial(faulty, json.loads(line))).encode() + b"\n")


if __name__ == "__main__":
    main()
