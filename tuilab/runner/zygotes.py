"""Starts zygotes: processes that have imported TensorFlow, from which a run forks its additional processes.

A fork inherits its parent's memory layout, so there are several zygotes, used in random order
(docs/measuring.md has the evidence). They open no device.
"""

import asyncio
import contextlib
import os
import random
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.runner import forked

COUNT = 3
PATIENCE_S = 60.0
EACH = 700 * 2**20
"""Bytes of memory that a zygote may need while it starts."""


class Zygotes:
    """Starts zygotes on demand. They end when `close` is called or this process ends."""

    def __init__(self, env: Mapping[str, str] | None = None, count: int = COUNT) -> None:
        self._env, self._count = env, count
        self._sockets: list[socket.socket] = []
        self._processes: list[asyncio.subprocess.Process] = []
        self._turns: list[int] = []
        self._early: asyncio.Task[bool] | None = None
        self._starting: asyncio.Task[bool] | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(each.pid for each in self._processes if each.returncode is None)

    def begin(self, number: int) -> None:
        """Start the given number of zygotes now, while nothing is measured. Does not wait."""
        self._early = asyncio.ensure_future(self._attempt(min(number, self._count)))

    async def quiet(self) -> None:
        """Wait until the zygotes that `begin` started are idle."""
        if self._early is not None:
            await asyncio.shield(self._early)

    async def ready(self) -> bool:
        """Start zygotes if needed, and wait until all can fork. Return False on failure."""
        await self.quiet()
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._attempt(self._count))
        return await asyncio.shield(self._starting)

    async def _attempt(self, number: int) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_S):
                begun = len(self._sockets)
                for _ in range(begun, number):
                    await self._spawn()
                loop = asyncio.get_running_loop()
                for each in self._sockets[begun:]:
                    if not await loop.sock_recv(each, 64):
                        raise OSError("a zygote process exited while it started")
        except (OSError, TimeoutError):
            self.kill_now()
            return False
        return True

    async def _spawn(self) -> None:
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        here.setblocking(False)
        self._sockets.append(here)
        try:
            self._processes.append(
                await asyncio.create_subprocess_exec(
                    *(sys.executable, "-P", "-m", "tuilab.worker.zygote", str(there.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    pass_fds=(there.fileno(),),
                    start_new_session=True,
                    env={**os.environ, **(self._env or {})},
                )
            )
        finally:
            there.close()

    def command(self, worker: Sequence[str]) -> tuple[int, list[str], int]:
        """Return the index of the zygote for the next worker, its start command, and the descriptor that it
        inherits.

        worker: the command that would start a fresh worker. Zygotes are used in random order and equally
        often.
        """
        if not self._turns:
            self._turns = random.sample(range(self._count), self._count)
        number = self._turns.pop()
        descriptor = self._sockets[number].fileno()
        stub = str(Path(forked.__file__))
        return number, [sys.executable, "-I", "-S", stub, str(descriptor), "--", *worker], descriptor

    def kill_now(self) -> None:
        for each in self._sockets:
            each.close()
        for process in self._processes:
            with contextlib.suppress(ProcessLookupError):
                if process.returncode is None:
                    process.kill()
        self._sockets, self._turns = [], []
        self._early = self._starting = None

    async def close(self) -> None:
        for task in (self._early, self._starting):
            if task is not None:
                task.cancel()
        self.kill_now()
        for process in self._processes:
            await process.wait()


def no_gpu_in_sight() -> bool:
    """Return True if no NVIDIA driver is loaded.

    This cheap check is used until a worker is ready and reports TensorFlow's GPUs.
    """
    return not Path("/proc/driver/nvidia/version").exists()


def idle_processors() -> int:
    """Return the number of processors that stay idle while a worker imports TensorFlow."""
    return len(psutil.Process().cpu_affinity() or ()) - 1 if sys.platform == "linux" else 0


def possible() -> bool:
    """Return True if this machine can fork workers: it runs Linux and has enough free memory."""
    return sys.platform == "linux" and psutil.virtual_memory().available > COUNT * EACH


def wanted(request: Measure, machine: Machine | None) -> bool:
    """Return True if a run's additional processes may be forked.

    This requires a run without a GPU and a budget that allows forking. A sweep also needs a budget with short
    processes. A process that has opened CUDA cannot be forked, and opening CUDA after the fork saves nothing.
    """
    budget = request.budget
    several = budget.forks > 0 and not (request.sweep is not None and budget.further_s)
    return several and machine is not None and not machine.gpus and possible()
