"""A trial: the real program in a terminal, a fault, and the conditions that must hold afterwards."""

import contextlib
import json
import os
import signal
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.data_folder import knowing
from tests.terminal.terminal import Terminal
from tuilab.history import spool
from tuilab.history.store import Store
from tuilab.model.events import Round
from tuilab.spool import folder

ROOT = Path(__file__).resolve().parents[2]
MARK = "TUILAB_TRIAL"
REACTS_S = 30.0
"""Time after which a key or the exit counts as blocked. Long, because the machine may be busy; benchmarks
measure the real times.
"""
START_S = 40.0
"""Maximum time for the start of a program on a busy machine. Not a guarantee to users."""


class Trial:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.side_log = folder / "reported"
        self.mark = uuid.uuid4().hex
        self.temporary = folder / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self._kept_elsewhere: dict[str, set[int]] = {}
        self.terminals: list[Terminal] = []
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("TUILAB", "XDG", "TEXTUAL"))},
            "HOME": str(folder / "home"),
            "TUILAB_DATA": knowing(self.data),
            "TUILAB_SIDE_LOG": str(self.side_log),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "TMPDIR": str(self.temporary),
            MARK: self.mark,
        }
        (folder / "home").mkdir(exist_ok=True)

    def open(
        self, worker: dict[str, object] | None = None, *, size: tuple[int, int] = (120, 40),
        controlling: bool = True, env: dict[str, str] | None = None, before: tuple[str, ...] = (),
        **options: object,
    ) -> Terminal:  # fmt: skip
        """Open the lab with a scripted worker. before: a command that runs the lab, such as `setpriv`."""
        told = json.dumps({"worker": worker or {}, "step": str(self.folder / "step"), **options})
        command = [sys.executable, "-P", "-m", "tests.faults.program", told]
        return self.program([*before, *command], size=size, controlling=controlling, env=env)

    def program(
        self, command: list[str], *, size: tuple[int, int] = (120, 40), controlling: bool = True,
        env: dict[str, str] | None = None,
    ) -> Terminal:  # fmt: skip
        environment = {**self.environment, **(env or {})}
        terminal = Terminal(command, environment, size, cwd=str(self.folder), controlling=controlling)
        self.terminals.append(terminal)
        return terminal

    # Conditions that must hold

    @property
    def reported(self) -> dict[str, set[int]]:
        out: dict[str, set[int]] = defaultdict(set)
        with contextlib.suppress(FileNotFoundError):
            for line in self.side_log.read_text().splitlines():
                run, _, index = line.partition(" ")
                out[run].add(int(index))
        return out

    def moved_to(self, data: Path) -> None:
        self.data = data

    def kept(self, data: Path | None = None) -> dict[str, set[int]]:
        """Return the rounds in the history, by run. First imports the runs that continued without a lab, as a
        starting lab does.
        """
        data = data or self.data
        store = Store.open(data)
        try:
            spool.collect(store, folder(data))
            return {
                line.run: {e.index for e in store.events(line.run) if isinstance(e, Round)}
                for line in store.runs()
            }
        finally:
            store.close()

    def lost(self, data: Path | None = None) -> dict[str, list[int]]:
        """Return the reported rounds that are not in the history. data: another data folder to search."""
        kept = {**self._kept_elsewhere, **self.kept(data)}
        if data is not None:
            self._kept_elsewhere = kept
        missing = {run: sorted(rounds - kept.get(run, set())) for run, rounds in self.reported.items()}
        return {run: rounds for run, rounds in missing.items() if rounds}

    def processes(self) -> dict[int, str]:
        out = {}
        mark = f"{MARK}={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{entry}/environ").read_bytes():
                    command = Path(f"/proc/{entry}/cmdline").read_bytes()
                    out[int(entry)] = command.replace(b"\0", b" ").decode(errors="replace")[:200]
        return out

    def alone(self, seconds: float = REACTS_S) -> dict[int, str]:
        deadline = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return left

    def traceback(self) -> str:
        for terminal in self.terminals:
            sent = bytes(terminal.sent)
            for words in (b"Traceback", b"Error:", b"Exception"):
                at = sent.find(words)
                if at >= 0 and not _said_by_the_lab(sent, at):
                    return sent[max(0, at - 200) : at + 2_000].decode(errors="replace")
        return ""

    def close(self) -> None:
        for terminal in self.terminals:
            terminal.close()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _said_by_the_lab(sent: bytes, at: int) -> bool:
    """Return True if the error's name at `at` is part of a message of the lab, such as `MemoryError: no
    more`.
    """
    return b"Traceback" not in sent[max(0, at - 3_000) : at + 20]


@contextlib.contextmanager
def trial(folder: Path) -> Iterator[Trial]:
    folder.mkdir(parents=True, exist_ok=True)
    made = Trial(folder)
    try:
        yield made
    finally:
        made.close()
