"""Runs child processes that may hang, each in its own process group, and collects their output."""

import json
import os
import signal
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab import guest
from tuilab.version import HOME

REAP_S = 0.5
"""Seconds to wait for a killed child to end. A child in an uninterruptible kernel call may never end."""

_alive: set[subprocess.Popen[bytes]] = set()
_lock = threading.Lock()


@dataclass(frozen=True)
class Ran:
    """A child's exit code and output. code: None if the child was killed on timeout."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def ending(self) -> str:
        if self.code is None:
            return "did not answer in time"
        if self.code < 0:
            return f"was killed by {signal.Signals(-self.code).name}"
        return f"exited with code {self.code}" if self.code else ""


def _no_more(ran: Ran) -> float:
    return 0.0


def run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    until: float,
    more: Callable[[Ran], float] = _no_more,
) -> Ran:
    """Run `argv` at most until the time `until` (monotonic clock), then kill its whole process group.

    more: returns extra seconds to allow, given the output so far. Raises OSError if the command cannot be
    started.
    """
    child = subprocess.Popen(
        argv,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with _lock:
        _alive.add(child)
    try:
        try:
            out, err = child.communicate(timeout=max(0.0, until - time.monotonic()))
            return Ran(child.returncode, out, err)
        except subprocess.TimeoutExpired as late:
            seconds = more(Ran(None, late.output or b"", late.stderr or b""))
        if seconds > 0:
            try:
                out, err = child.communicate(timeout=seconds)
                return Ran(child.returncode, out, err)
            except subprocess.TimeoutExpired:
                pass
        kill(child)
        try:
            out, err = child.communicate(timeout=REAP_S)
        except subprocess.TimeoutExpired as late:
            out, err = late.output or b"", late.stderr or b""
        return Ran(None, out, err)
    finally:
        with _lock:
            _alive.discard(child)


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill a child and every process that it started. Does nothing if the child has already exited."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def kill_all() -> None:
    with _lock:
        left = list(_alive)
    for child in left:
        kill(child)


def environment(environ: Mapping[str, str], **more: str) -> dict[str, str]:
    """Return `environ`, extended by `more` and by the variables with which a child finds this package."""
    out = dict(environ) | more
    home = HOME.parent
    if home not in {Path(sysconfig.get_path(kind)).resolve() for kind in ("purelib", "platlib")}:
        out["PYTHONPATH"] = os.pathsep.join(filter(None, [str(home), out.get("PYTHONPATH", "")]))
    return out


def run_own_module(environ: Mapping[str, str], until: float, *arguments: str) -> Ran:
    return run(guest.command("tuilab.doctor.child", *arguments), environment(environ), until)


def merge_lines(out: bytes) -> dict[str, Any]:
    """Merge a child's JSON lines into one object; later lines win. Drops an incomplete last line."""
    facts: dict[str, Any] = {}
    for line in out.splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict):
            facts |= said
    return facts
