"""Runs commands in which each system call fails once: `python faulted.py`, with `faulty.c` preloaded.

Reads trials as JSON lines, and answers each with one line. A trial is a fork of this process, which has
already imported the command line; each worker is a fork of the trial. A trial ends when all processes that it
started have ended. A trial that takes too long is killed and reported as a hang.
"""

import asyncio
import contextlib
import ctypes
import faulthandler
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import tests.made  # noqa: F401  for the workers
import tuilab
import tuilab.worker.channel
from tuilab import processes
from tuilab.cli import lab
from tuilab.cli import main as program
from tuilab.runner import process, supervisor

WORKER = str(Path(__file__).with_name("worker.py"))
REST_S = 20.0


def export() -> None:
    from tuilab.lab.export import write_kept
    from tuilab.lab.history import CancellableProgress, History
    from tuilab.report.formats import FORMATS

    with lab.open_history() as kept:
        assert isinstance(kept, History)
        for key in (*FORMATS, "recording"):
            print(write_kept(key, "run1", (), Path("own"), CancellableProgress("Writing"), kept))


def remember() -> None:
    """Change a saved preference. If saving fails, the preference applies only to this session."""
    from tuilab.lab import files

    files.remember_opened("b.py")
    files.keep_command("tuilab run x")


ACTS: dict[str, Callable[[], None]] = {"@export": export, "@remember": remember}


def load_commands() -> None:
    for package in (
        "cli", "lab", "history", "documents", "report", "analysis", "model", "workloads", "catalogue", "runner", "telemetry",
    ):  # fmt: skip
        for found in pkgutil.walk_packages(
            [str(Path(tuilab.__file__).parent / package)], f"tuilab.{package}."
        ):
            with contextlib.suppress(ImportError):
                importlib.import_module(found.name)
    for name in program.COMMANDS:
        program.cli.get_command(None, name)  # type: ignore[arg-type]
    presets = importlib.import_module("tuilab.catalogue.load")
    presets.read_bytes = functools.cache(presets.read_bytes)
    presets.load(importlib.import_module("tuilab.paths").shipped_folder())


def fork_workers(faulty: ctypes.CDLL) -> None:
    """Fork this process whenever a command starts the tests' worker, which is faster than starting a new
    Python process.
    """
    begin = asyncio.BaseEventLoop.subprocess_exec

    def be(command: Sequence[str], environment: dict[str, str]) -> NoReturn:
        faulty.fault_arm(b"", 0, 0, 0, b"")
        os.closerange(3, 1_000)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = list(command[1:])
        code = 1
        try:
            runpy.run_path(WORKER, run_name="__main__")
            code = 0
        finally:
            os._exit(code)

    async def forked(
        self: asyncio.BaseEventLoop, protocol: Any, *command: str, env: dict[str, str], **more: Any
    ) -> Any:
        if command[1:2] == (WORKER,):
            more["preexec_fn"] = lambda: be(command, env)
        return await begin(self, protocol, *command, env=env, **more)

    asyncio.BaseEventLoop.subprocess_exec = forked  # type: ignore[assignment, method-assign]


def trial(faulty: ctypes.CDLL, told: dict[str, object]) -> dict[str, object]:
    """Run one trial. Return the exit code or "hang", the number of system calls of the kind that was made to
    fail, and whether a process of the trial is still running.
    """
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
            calls = int(counted.read_text()) if counted.exists() else 0  # a killed process leaves no count
            return {"code": os.waitstatus_to_exitcode(status), "calls": calls, "stays": not at_rest()}
        time.sleep(0.002)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {"code": "hang", "calls": 0, "stays": not at_rest()}


def at_rest() -> bool:
    """Wait until all processes of a command, including orphans, have ended. Return False if one of them is
    still running.

    This process is the subreaper of the orphans.
    """
    until = time.monotonic() + REST_S
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.002)
        return False
    return True


def main() -> None:
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
    fork_workers(faulty)
    processes.adopt()
    gc.collect()
    gc.freeze()
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        os.write(answers, json.dumps(trial(faulty, json.loads(line))).encode() + b"\n")


if __name__ == "__main__":
    main()
