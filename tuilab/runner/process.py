"""Starts a worker process, reads its events, and reports its exit."""

import asyncio
import contextlib
import os
import re
import signal
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from tuilab import guest
from tuilab.model.errors import CLOSED, UNDECODED
from tuilab.model.events import Event, Log, Round, WorkerExited, decode
from tuilab.model.requests import Request, encode
from tuilab.model.sanitize import sanitize, sanitize_line
from tuilab.processes import MARK, Process, descendants, end_all, guards
from tuilab.runner.lines import lines

LONGEST_EVENT = 64 * 2**20
LONGEST_LOG = 64 * 2**10
TERM_GRACE_S = 0.3
GUARD_S = 1.0
"""Maximum seconds to wait while a worker's guard removes the worker's temporary files."""
LAST_WORDS_S = 3.0
"""Maximum age in seconds of output that may explain why a worker exited."""

OWN = "tuilab: "
"""Prefix of tuilab's own messages in a worker's standard error."""

Explain = Callable[[int, Sequence[str]], str]
Level = Literal["debug", "info", "warning", "error"]
_LEVELS: dict[str, Level] = {"I": "info", "W": "warning", "E": "error", "F": "error"}
TENSORFLOW_LINE = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:|^\d{4}-\d\d-\d\d [\d:.]+: ([IWEF]) ")


def local_command() -> list[str]:
    return guest.command("tuilab.worker")


def contained(listener: Callable[[Event], None]) -> Callable[[Event], None]:
    """Wrap a listener so that its exceptions stop neither the reading of events nor the run.

    The event loop reports the exceptions.
    """

    def tell(event: Event) -> None:
        try:
            listener(event)
        except Exception as error:
            about = {"message": f"{type(event).__name__} could not be delivered", "exception": error}
            asyncio.get_running_loop().call_exception_handler(about)

    return tell


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Reports the process's exit even if other processes still hold its pipes; `Process.wait` would wait for
    them.
    """

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit=limit, loop=loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


class WorkerProcess:
    """A running worker.

    on_event: receives the worker's events in order, in the event loop that started the worker.
    """

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: "_Protocol",
        on_event: Callable[[Event], None],
        explain: Explain | None,
        mark: str,
    ) -> None:
        self._transport = transport
        self._process = asyncio.subprocess.Process(transport, protocol, asyncio.get_running_loop())
        self._exited = protocol.exited
        self._mark = mark
        self._known: dict[Process, None] = {}
        self._on_event = contained(on_event)
        self._explain = explain or partial(local_end, killed=oom_kills())
        self.ending = False
        """True once the worker is being ended. A worker that is being ended gets no further requests."""
        self._last_words: deque[tuple[float, str]] = deque(maxlen=20)
        self._tasks = [asyncio.create_task(self._read_events()), asyncio.create_task(self._read_log())]
        self._over = asyncio.create_task(self._wait())

    @classmethod
    async def spawn(
        cls,
        command: Sequence[str],
        on_event: Callable[[Event], None],
        env: Mapping[str, str] | None = None,
        explain: Explain | None = None,
        inherited: Sequence[int] = (),
    ) -> "WorkerProcess":
        """Start the worker in its own process group. Raises OSError if the command cannot be started.

        inherited: extra file descriptors for the process.
        """
        loop, mark = asyncio.get_running_loop(), uuid.uuid4().hex
        transport, protocol = await loop.subprocess_exec(
            lambda: _Protocol(limit=2**16, loop=loop),
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            pass_fds=tuple(inherited),
            env={**os.environ, **(env or {}), MARK: mark},
        )
        return cls(transport, protocol, on_event, explain, mark)

    @property
    def pid(self) -> int:
        """The worker's process id, which is also the id of its process group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def send(self, request: Request) -> None:
        """Write a request. Ignores a broken pipe, because the worker's exit is reported separately."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(encode(request))
            await self._process.stdin.drain()

    async def end(self) -> None:
        """Send TERM, then KILL, to the whole group. Return when the group and its temporary files are
        gone.
        """
        self.ending = True
        self.look_around()
        self._signal(signal.SIGTERM)
        done, _ = await asyncio.wait({self._over}, timeout=TERM_GRACE_S)
        # The group may contain processes that outlive the worker.
        self._signal(signal.SIGKILL)
        if not done:
            await self._over
        # In a container, the exit of process 1 would also kill the guard, so wait for the guard.
        deadline = time.monotonic() + GUARD_S
        while guards(self._known) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)

    def look_around(self) -> None:
        """Record the worker's descendants, which can be found only while the worker is alive."""
        self._known.update(dict.fromkeys(descendants(self.pid)))

    async def gone(self) -> None:
        """Wait until the worker has ended and all its output has been delivered."""
        await asyncio.shield(self._over)

    def kill_now(self) -> None:
        """Send KILL without waiting, because the program is about to exit."""
        self.ending = True
        self.look_around()
        self._signal(signal.SIGKILL)
        self._end_others()

    def _end_others(self) -> None:
        """Kill processes that the worker's code started outside the worker's process group."""
        end_all(self.pid, self._mark, self._known)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_events(self) -> None:
        assert self._process.stdout is not None
        async for line, cut in lines(self._process.stdout, LONGEST_EVENT):
            if not line.strip():
                continue
            try:
                event = decode(line)
            except (*UNDECODED, ValueError) as error:
                why = "longer than the protocol allows" if cut else str(error)
                shown = sanitize_line(line[:200].decode("utf-8", "replace"), 200)
                self._on_event(Log(text=f"not an event ({why}): {shown}", level="error", source="tuilab"))
            else:
                # Rounds contain only numbers, and names that this process sent. Other events may contain
                # untrusted text.
                self._on_event(event if isinstance(event, Round) else sanitize(event))

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        async for line, _ in lines(self._process.stderr, LONGEST_LOG):
            text = sanitize_line(line.decode("utf-8", "replace")).rstrip()
            if text:
                self._last_words.append((time.monotonic(), text))
                self._on_event(Log(text=text, level=level(text)))

    async def _wait(self) -> None:
        await self._exited.wait()
        code = self._process.returncode or 0
        # Kill the group, because processes that the worker's code started would outlive it.
        self._signal(signal.SIGKILL)
        self._end_others()
        # A descendant that cannot be killed may hold the pipes open. The worker's own output has arrived by
        # then.
        await asyncio.wait(self._tasks, timeout=0.5)
        for task in self._tasks:
            task.cancel()
        self._transport.close()
        self._on_event(WorkerExited(code=code, message=self._message(code), expected=self.ending))

    def _message(self, code: int) -> str:
        if self.ending:
            return "the worker was ended"
        latest = time.monotonic() - LAST_WORDS_S
        return self._explain(code, tuple(text for at, text in self._last_words if at >= latest))


def oom_kills() -> int | None:
    """Return the kernel's count of out-of-memory kills, if known."""
    try:
        words = Path("/proc/vmstat").read_text().split()
        return int(words[words.index("oom_kill") + 1])
    except (OSError, ValueError, IndexError):
        return None


def local_end(code: int, last_words: Sequence[str], killed: int | None = None) -> str:
    """Describe why a local worker ended. killed: the value of `oom_kills` when the worker started."""
    if any(word.endswith(CLOSED) for word in last_words):
        return f"the worker ended: {CLOSED}"
    if own := [word.removeprefix(OWN) for word in last_words if word.startswith(OWN)]:
        return own[-1]
    last = f"; its last output: {last_words[-1]}" if last_words else ""
    if code < 0:
        with contextlib.suppress(ValueError):
            name = signal.Signals(-code).name
            hint = ""
            if name == "SIGKILL":
                now = oom_kills()
                hint = " (possibly out of memory)"
                if killed is not None and now is not None:
                    hint = " (out of memory)" if now > killed else " (not out of memory)"
            return f"the worker was killed by {name}{hint}{last}"
    return f"the worker ended with code {code}{last}"


def level(text: str) -> Level:
    match = TENSORFLOW_LINE.match(text)
    return _LEVELS[match[1] or match[2]] if match else "info"
