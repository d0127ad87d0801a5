"""Runs a worker through the system's ssh, with the user's configuration, keys and agent."""

import os
import re
import shlex
import signal
from collections.abc import Sequence

from tuilab.model.errors import InputError
from tuilab.runner.process import TENSORFLOW_LINE

PROGRAM = "TUILAB_SSH"
"""Environment variable with another ssh command, with options, in shell syntax."""
REMOTE = "TUILAB_REMOTE"
"""Environment variable with the command that starts tuilab on the other host, `tuilab` by default."""

_HOST = re.compile(r"(?!-)[A-Za-z0-9_.@:%\[\]+-]{1,255}")

_INSTALL = (
    "tuilab is not installed there; install it with `ssh {host} python3 -m pip install tuilab`, "
    f"or set its path with {REMOTE}=/path/to/tuilab"
)
_NOT_FOUND = 127
_FAILED = 255
"""ssh's exit code if it could not connect or lost the connection."""

# Patterns of ssh's messages, each with an explanation for the user. The first match applies.
_CAUSES: tuple[tuple[str, str], ...] = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed; find out why before you trust that host",
    ),
    (
        "Host key verification failed",
        "its host key is not known; run `ssh {host}` once and answer its prompt",
    ),
    (
        "Permission denied",
        "it refused the login; `ssh {host} true` must work without a prompt (with a key or an agent)",
    ),
    ("Could not resolve hostname|Name or service not known", "this host name is unknown"),
    (
        "client_loop|closed by remote host|not responding|Connection reset|Broken pipe",
        "the connection dropped",
    ),
    ("Connection refused|timed out|No route to host|Network is unreachable", "it cannot be reached"),
)


def command(host: str, options: Sequence[str] = (), what: str = "worker") -> list[str]:
    """Return the command that starts a worker on `host`: an alias from ssh's configuration, or `user@host`.

    what: the subcommand of tuilab to run on the host. options: options of this subcommand. `BatchMode` makes
    ssh fail instead of prompting, so no password passes through the lab. Raises InputError for a name that
    ssh would read as an option.
    """
    if not _HOST.fullmatch(host):
        raise InputError("--host", host, "an ssh alias, a host or user@host")
    ssh = shlex.split(os.environ.get(PROGRAM, "")) or ["ssh"]
    ssh += ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
    ssh += ["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"]
    there = shlex.join([what, *options])
    return [*ssh, host, f"exec {os.environ.get(REMOTE) or 'tuilab'} {there}"]


def explain(host: str, code: int, last_words: Sequence[str]) -> str:
    """Describe why a worker on `host` ended, given ssh's exit code and last output.

    Skips TensorFlow's lines, which mention missing files and refused connections for other reasons.
    """
    lines = [line for line in last_words if not TENSORFLOW_LINE.match(line)]
    return f"{host}: {_cause(host, code, lines)}"


def _cause(host: str, code: int, said: Sequence[str]) -> str:
    text, last = "\n".join(said), f" (last output: {said[-1]})" if said else ""
    if code < 0:
        return f"the connection dropped: ssh was killed by {_signal(-code)}"
    if code == _FAILED:
        for pattern, cause in _CAUSES:
            if re.search(pattern, text):
                return cause.format(host=host)
        return f"the connection dropped, or the worker there was killed{last}"
    if code == _NOT_FOUND or re.search(r"No module named .?tuilab|tuilab: Command not found", text):
        return _INSTALL.format(host=host)
    return f"the worker ended with code {code}{last}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
