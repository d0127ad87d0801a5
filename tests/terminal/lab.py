"""The lab as a user starts it (`python -m tuilab`), in a terminal: keys, mouse, remaining processes."""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.data_folder import knowing
from tests.terminal.terminal import Terminal

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tuilab")
READY_S = 90.0

# Matches log lines of TensorFlow, XLA and their libraries.
LIBRARY_LOG = re.compile(
    rb"[0-9]: [IWEF] (tensorflow|external)/|[IWEF][0-9]{4} [0-9:]{8}|cpu_feature_guard|WARNING:tensorflow|"
    rb"oneDNN custom operations|All log messages before absl"
)
SCRIPTED = (sys.executable, "-m", "tests.faults.program")
TRUECOLOR, OF_256 = b"8;2;", b"8;5;"
COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def environment(home: Path, term: str = "xterm-256color", **more: str) -> dict[str, str]:
    """Return the environment variables of a new user account in a UTF-8 terminal of the kind `term`.
    COLORTERM is set only if given.
    """
    kept = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "NO_COLOR", "TUILAB_ASCII", "TMUX")}
    own = {"TUILAB_DATA": knowing(home), "XDG_CONFIG_HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": term}
    return {**kept, "PYTHONPATH": str(REPOSITORY), **own, **more}


@contextmanager
def opened(
    home: Path,
    size: tuple[int, int],
    *words: str,
    env: Mapping[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
) -> Iterator[Terminal]:
    terminal = Terminal([*command, *words], env or environment(home), size, cwd=str(home))
    try:
        yield terminal
    finally:
        workers = family(terminal.process.pid)
        terminal.close()
        for process in workers:
            if process.is_running():
                process.kill()


@contextmanager
def scripted(
    home: Path,
    term: str = "xterm-256color",
    size: tuple[int, int] = (120, 40),
    given: Mapping[str, object] | None = None,
    **more: str,
) -> Iterator[Terminal]:
    """Run a lab in a terminal of the kind `term`, with a worker that does not need TensorFlow."""
    command = (*SCRIPTED, json.dumps(given or {}))
    with opened(home, size, env=environment(home, term, **more), command=command) as terminal:
        yield terminal


def colours(terminal: Terminal) -> list[bytes]:
    return [found[0] for found in COLOUR.finditer(bytes(terminal.sent))]


def family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def left_of(groups: set[int]) -> list[str]:
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        try:
            if os.getpgid(process.pid) in groups and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{process.pid} {process.info['cmdline']}")
        except ProcessLookupError:
            continue
    return found


def leave(terminal: Terminal, key: str = "q") -> None:
    """Press the key that leaves the lab. Asserts that the lab exits normally and that no worker remains."""
    groups = {os.getpgid(p.pid) for p in family(terminal.process.pid)}
    assert groups, "there is no worker"
    terminal.press(key)
    assert terminal.ended(60) == 0
    terminal.until(lambda: not left_of(groups), 30, f"no process left of the groups {groups}")
