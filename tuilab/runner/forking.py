"""Decides whether a run's additional processes are forked, and returns the commands that fork them."""

import math
from collections.abc import Mapping, Sequence

import msgspec
import psutil

from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.model.scenario import FORKED_CHASE_S
from tuilab.model.subject import Code, subject_of
from tuilab.runner.zygotes import COUNT, EACH, Zygotes, idle_processors, no_gpu_in_sight, possible, wanted

BESIDE = 4
"""Maximum number of forked processes to prepare in parallel."""


class Forking:
    """Forks processes from zygotes, which start when the first is needed.

    command: starts a fresh worker. own: True if the command starts the lab's own Python; no other can be
    forked. foreseen: True if the next run will fork processes, so that zygotes can start on idle processors
    while the first worker starts.
    """

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str] | None, own: bool, foreseen: bool
    ) -> None:
        self._command = command
        self._zygotes = Zygotes(env) if own else None
        self._foreseen = foreseen
        self._largest = EACH
        """Memory in bytes of the largest process that has measured."""

    def begin(self) -> None:
        if self._foreseen and self._zygotes is not None and no_gpu_in_sight() and possible():
            self._zygotes.begin(idle_processors())

    def forks(self, request: Measure, machine: Machine | None) -> bool:
        # Other environments always use fresh processes, so a run that also measures in them uses fresh
        # processes here.
        return self._zygotes is not None and not request.turns and wanted(request, machine)

    @property
    def starting(self) -> bool:
        """True if zygotes must still be started."""
        return self._zygotes is not None and len(self._zygotes.pids) < COUNT

    async def ready(self) -> bool:
        """Start the zygotes. Return False if no process can be forked, now or later."""
        if self._zygotes is not None and not await self._zygotes.ready():
            self._zygotes = None
        return self._zygotes is not None

    def command(self) -> tuple[int | None, Sequence[str], Sequence[int]]:
        """Return the zygote of the next process, the process's command, and the file descriptors that it
        inherits. Without zygotes, return the command of a fresh process.
        """
        if self._zygotes is None:
            return None, self._command, ()
        zygote, command, descriptor = self._zygotes.command(self._command)
        return zygote, command, (descriptor,)

    async def first(self, request: Measure, machine: Machine | None) -> Measure:
        """Return the request for a run's first process, before it is sent.

        If later processes will be forked, the first process stops pursuing precision sooner. Otherwise the
        zygotes of `begin` end.
        """
        foreseen, self._foreseen = self._foreseen, False
        if self.forks(request, machine):
            chase_s = min(request.budget.chase_s or math.inf, FORKED_CHASE_S)
            return msgspec.structs.replace(
                request, budget=msgspec.structs.replace(request.budget, chase_s=chase_s)
            )
        if foreseen:
            await self.close()
        return request

    async def quiet(self) -> None:
        """Wait until no zygote is starting."""
        if self._zygotes is not None:
            await self._zygotes.quiet()

    def measured(self, memory: int) -> None:
        """Note the memory in bytes of a process that has measured."""
        self._largest = max(self._largest, memory)

    def beside(self, request: Measure) -> int:
        """Return the number of processes to prepare in parallel, as far as the idle processors and the free
        memory allow.

        Assumes that each process needs as much memory as the largest process so far. Returns 0 if the request
        is not for a forked process, and for user code, because loading user code may have side effects.
        """
        scenario = request.scenario
        own = isinstance(subject_of(scenario.file), Code) or scenario.opening.code
        if request.zygote is None or own:
            return 0
        room = psutil.virtual_memory().available // self._largest
        return max(0, min(idle_processors(), BESIDE - 1, room - 1))

    async def close(self) -> None:
        if self._zygotes is not None:
            await self._zygotes.close()

    def kill_now(self) -> None:
        if self._zygotes is not None:
            self._zygotes.kill_now()
