"""Simulates a user who has installed the wheel. Runs commands, opens the lab, and checks for remaining
processes.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests.terminal.terminal import Terminal

CHECKOUT = Path(__file__).resolve().parents[2]
PATIENCE_S = 180.0
INTERRUPTED = 130
TRACEBACK = "Traceback (most recent call last)"
LEFT_S = 10.0
"""Maximum time for which processes of a command may outlive the command."""
STARTING_S = 0.5
"""Time within which a new process must leave the process group of its parent."""
SHARES = {
    "tuilab watch": "the program has the terminal, whose Ctrl-C reaches the foreground group alone",
    "tuilab check": "copies of the command itself, which nothing signals",
}
"""Commands that run processes in their own process group, with the reason."""


class Done(NamedTuple):
    code: int
    out: str
    err: str


def install(folder: Path) -> Path:
    """Build the wheel and install it into a new environment. Returns the environment's `bin` folder.

    Dependencies are those of the running environment, added by path. The .pth files of that environment are
    not used, because an editable install would make the checkout importable.
    """
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(CHECKOUT),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    programs = environment_with_tensorflow(folder / "venv")
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--quiet"]
    subprocess.run(
        [*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True, timeout=300
    )
    return programs


def environment_with_tensorflow(folder: Path) -> Path:
    """Create an environment with the packages of the running environment, except tuilab. Returns the `bin`
    folder.
    """
    venv = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(venv, check=True, capture_output=True, timeout=120)
    (packages,) = folder.glob("lib/python*/site-packages")
    installed = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "dependencies.pth").write_text("\n".join(installed) + "\n")
    return folder / "bin"


class Group(threading.Thread):
    """Watches which processes a running command starts in its own process group, by reading /proc."""

    def __init__(self, leader: int) -> None:
        super().__init__(daemon=True)
        self.leader, self.found = leader, dict[int, str]()
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        seen: dict[int, float] = {}
        while not self._over.wait(0.2):
            try:
                children = psutil.Process(self.leader).children(recursive=True)
            except psutil.Error:
                continue
            for child in children:
                try:
                    inside = os.getpgid(child.pid) == self.leader
                except OSError:
                    continue
                if inside and time.monotonic() - seen.setdefault(child.pid, time.monotonic()) > STARTING_S:
                    self.found[child.pid] = named(child)

    def ended(self) -> list[str]:
        """Stop watching. Returns the processes seen in the group."""
        self._over.set()
        self.join()
        return list(self.found.values())


class User:
    """A simulated user with a home folder and a record of what the user saw.

    Of the test's environment variables, the user gets only PATH.
    """

    def __init__(self, home: Path, programs: Path) -> None:
        self.home, self.programs = home, programs
        (home / "tmp").mkdir(parents=True)
        own = Path(sys.executable).parent
        path = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(each) != own]
        self.environment = {
            "HOME": str(home),
            "PATH": os.pathsep.join([str(programs), *path]),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "TMPDIR": str(home / "tmp"),
        }
        self._saw: list[Callable[[], str]] = []
        self._groups: dict[int, tuple[str, Group | None, Path]] = {}

    def write(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    # Commands

    def begin(self, line: str, *, cwd: Path | None = None, **more: Any) -> "subprocess.Popen[str]":
        """Start a command line as a shell would, in a new session without a terminal."""
        how: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        how |= {"env": self.environment, "start_new_session": True, "text": True} | more
        plain = re.match(r"tuilab [^;|&]*$", line) is not None
        bystander = "(cd /; env -i sleep 900 <&- >&- 2>&- & echo $! > $OLDPWD/bystander.$$)"
        begun = f"{bystander}; {'exec ' * plain}{line}"
        process = subprocess.Popen(["bash", "-c", begun], cwd=cwd or self.home, **how)
        self._groups[process.pid] = (line, Group(process.pid) if plain else None, Path(cwd or self.home))
        return process

    def ends(self, process: "subprocess.Popen[str]") -> None:
        """Fail if a finished command has started a process in its own process group, or ended a process that
        it did not start.

        Each process that the lab starts has its own group, and the lab signals only such groups.
        """
        line, group, folder = self._groups.pop(process.pid)
        inside = group.ended() if group else []
        file = folder / f"bystander.{process.pid}"
        bystander = int(file.read_text())
        file.unlink()
        alive = psutil.pid_exists(bystander) and psutil.Process(bystander).status() != psutil.STATUS_ZOMBIE
        if alive:
            os.kill(bystander, signal.SIGKILL)
        assert alive, f"{line} ended a process that it did not start"
        assert not inside or line.startswith(tuple(SHARES)), (
            f"{line} started processes in its own group: {inside}"
        )

    def run(
        self,
        line: str,
        *,
        code: int | tuple[int, ...] = 0,
        seconds: float = PATIENCE_S,
        typed: str | None = None,
        own_traceback: bool = False,
        beside: bool = False,
        **more: Any,
    ) -> Done:
        """Run a command line to its end. Fails on another exit code, on a traceback, or if processes remain.

        beside: another process of the user runs at the same time. own_traceback: the user's program may print
        a traceback.
        """
        if typed is not None:
            more["stdin"] = subprocess.PIPE
        process = self.begin(line, **more)
        try:
            out, err = process.communicate(typed, timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(
                f"$ {line}\nnot within {seconds:g} s\n{out[-5_000:]}{err[-5_000:]}"
            ) from None
        done = Done(process.returncode, out or "", err or "")
        text = f"$ {line}\n{done.out[-5_000:]}{done.err[-5_000:]}\nexit code {done.code}"
        self._saw.append(lambda: text)
        codes = (code,) if isinstance(code, int) else code
        assert done.code in codes, f"{text}, not {code}"
        assert own_traceback or TRACEBACK not in done.out + done.err, text
        self.ends(process)
        if not beside:
            self.nothing_runs()
        return done

    # The lab

    def begins_and_stops(self, line: str) -> dict[str, Any]:
        before = {run["run"] for run in self.history()}
        process = self.begin(line)

        def measured() -> list[dict[str, Any]]:
            return [run for run in self.history() if run["run"] not in before and run["rounds"]]

        deadline = time.monotonic() + PATIENCE_S
        while not measured() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(1.0)
        os.killpg(process.pid, signal.SIGINT)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        text = f"$ {line}\n{out[-5_000:]}{err[-5_000:]}\nexit code {process.returncode}"
        self._saw.append(lambda: text)
        assert process.returncode == INTERRUPTED and TRACEBACK not in out + err, text
        self.ends(process)
        self.nothing_runs()
        (run,) = measured()
        return run

    def history(self) -> list[dict[str, Any]]:
        runs: list[dict[str, Any]] = json.loads(self.run("tuilab history --json", beside=True).out)
        return runs

    @contextmanager
    def opens(
        self,
        line: str,
        size: tuple[int, int] = (120, 40),
        *,
        cwd: Path | None = None,
        own_traceback: bool = False,
        **more: str,
    ) -> Iterator[Terminal]:
        """Type a command line in a terminal of this size. Closes the terminal at the end.

        own_traceback: the user's program may print a traceback.
        """
        command, env = ["bash", "-c", f"exec {line}"], {**self.environment, **more}
        terminal = Terminal(command, env, size, cwd=str(cwd or self.home))
        self._saw.append(lambda: f"$ {line}\n{terminal.text}")
        try:
            yield terminal
            assert own_traceback or TRACEBACK not in terminal.text, terminal.text
        finally:
            terminal.close()

    def leaves(self, terminal: Terminal, keys: str = "q", code: int = 0) -> None:
        terminal.press(keys)
        found = terminal.ended()
        assert found == code, f"exit code {found}, not {code}\n{terminal.last_words}"
        assert TRACEBACK not in terminal.last_words, terminal.last_words
        self.nothing_runs()

    # Remaining processes

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                own = process.environ().get("HOME") == str(self.home)
                inside = own or Path(process.cwd()).is_relative_to(self.home)
                if inside and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.Error, OSError):
                continue
        return found

    def nothing_runs(self, seconds: float = LEFT_S) -> None:
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not left, "left running: " + "; ".join(named(process) for process in left)

    def nothing_is_left(self) -> None:
        self.nothing_runs()
        left = sorted(path.name for path in (self.home / "tmp").iterdir() if "tuilab" in path.name)
        assert not left, f"left in the temporary folder: {left}"

    def end(self) -> None:
        for process in self.processes():
            process.kill()
        for file in self.home.rglob("bystander.*"):
            with suppress(OSError, ValueError):
                os.kill(int(file.read_text()), signal.SIGKILL)

    @property
    def seen(self) -> str:
        return "\n\n".join(each() for each in self._saw[-6:])


def named(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {' '.join(process.cmdline())[:200]}"
    except psutil.Error:
        return str(process.pid)


def figures(text: str) -> list[str]:
    return re.findall(r"[\d.,]+ (?:ns|µs|ms|s)\b", text)


def missing(*programs: str) -> Sequence[str]:
    return [program for program in programs if shutil.which(program) is None]
