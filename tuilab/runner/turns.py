"""Lets workers on one machine take turns within a run, so that their rounds cover the same period."""

import random
import statistics
from collections.abc import Mapping

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import LOCAL
from tuilab.model.requests import Measure, Turn
from tuilab.model.scenario import Budget
from tuilab.runner.host import HostRunner
from tuilab.runner.policy import Policy, Tell

LEAST_PROCESSES = 3
"""Minimum number of processes per environment.

Speeds vary from process to process, so single processes cannot show a difference between environments.
"""
QUICK_S = 2.0
"""Seconds that a process measures rounds with the quick budget."""

replace = msgspec.structs.replace


def budget_of(budget: Budget) -> Budget:
    """Return the budget for each environment's processes: equal numbers of rounds, in several processes."""
    if budget.workers < LEAST_PROCESSES:
        budget = replace(budget, workers=LEAST_PROCESSES, further_s=QUICK_S)
    return replace(budget, precision=1e6, chase_s=0.0)


class Turns(Policy):
    """Lets only one worker be active at a time.

    A turn is one round. The first turn includes everything before the first round: start, build and warm-up.
    In each cycle, every worker has one turn, in random order, and the cycle's rounds are reported as one
    round. After all workers have finished their last round, each worker gets a fresh process.
    """

    def __init__(self, members: Mapping[str, HostRunner], parts: Mapping[str, Measure], tell: Tell) -> None:
        super().__init__(members, parts, tell)
        first = next(iter(parts.values()))
        self._run, self._budget = first.id, budget_of(first.budget)
        # In a resumed run, some processes have already finished.
        self._first_worker, self._index = first.worker, 0
        self._processes = first.worker + 1
        if first.sweep is None:
            least = LEAST_PROCESSES if first.worker else self._budget.workers
            self._processes = max(self._processes, least)
        self._worker = first.worker
        self._begun: set[str] = set()
        self._left: set[str] = set()
        self._cycle: list[str] = []
        self._rounds: list[e.Round] = []
        self._elapsed: dict[tuple[str, int], float] = {}
        self._endings: dict[str, e.Finished] = {}
        self._out: set[str] = set()
        self._imports: dict[str, list[float]] = {}
        self._stopped = False

    async def start(self) -> None:
        self._begin(self._first_worker)

    async def cancel(self) -> None:
        """Stop the run: skip workers that have not started, and cancel the others."""
        self._stopped = True
        await super().cancel()

    def receive(self, host: str, event: e.Event) -> None:
        if isinstance(event, e.Ready):
            self._imports.setdefault(host, []).append(event.import_s)
        elif isinstance(event, e.TurnOver):
            self._next()
            return
        elif isinstance(event, e.Round):
            self._rounds.append(event)
            self._elapsed[host, self._worker] = event.elapsed_s
            return
        elif isinstance(event, e.Finished):
            self._ended(host, event)
            return
        elif isinstance(event, e.RunStarted) and event.worker > self._first_worker and host != self._first:
            return  # the first host's additional process reports its start for all hosts
        self._tell(host, event)

    def _begin(self, worker: int) -> None:
        self._worker, self._begun, self._cycle = worker, set(), []
        self._left = set(self.parts) - self._out
        self._first = next(host for host in self.parts if host in self._left)
        # Let the first host start first, so that listeners receive the start of the run before other events.
        self._cycle = [self._first, *random.sample(sorted(self._left - {self._first}), len(self._left) - 1)]
        self._next()

    def _next(self) -> None:
        """Give the turn to the next worker. At the end of a cycle, report its rounds."""
        while self._cycle and self._cycle[0] not in self._left:
            self._cycle.pop(0)
        if not self._cycle:
            self._flush()
            if not self._left:
                self._over()
                return
            self._cycle = random.sample(sorted(self._left), len(self._left))
        host = self._cycle.pop(0)
        if self._stopped and host not in self._begun:
            self._ended(host, e.Finished(run=self._run, status="cancelled", message="stopped by request"))
        elif host in self._begun:
            self._spawn(self._members[host].send(Turn(id=self._run)))
        else:
            self._begun.add(host)
            self._spawn(self._take_part(host))

    async def _take_part(self, host: str) -> None:
        further = self._worker > self._first_worker
        part, short = self.parts[host], further and self._budget.further_s > 0
        request = replace(
            part,
            worker=self._worker,
            turns=True,
            budget=self._budget,
            phases=part.phases and not short,
            placement=part.placement and not short,
            finish=False,
            spool="",
        )
        if further:
            self._tell(
                host, e.Progress(run=self._run, stage=f"{host or LOCAL}: starting process {self._worker + 1}")
            )
            await self._members[host].renew()
        await self._measure(host, request)

    def _flush(self) -> None:
        """Report a cycle's rounds as one round, so that the workers' times are paired."""
        rounds, self._rounds = self._rounds, []
        if not rounds:
            return
        songs = [each.canary_s for each in rounds if each.canary_s is not None]
        merged = replace(
            rounds[0],
            index=self._index,
            blocks=tuple(block for each in rounds for block in each.blocks),
            elapsed_s=sum(self._elapsed.values()),
            timed_s=sum(each.timed_s for each in rounds),
            canary_s=max(songs, default=None),
            repeated=any(each.repeated for each in rounds),
        )
        self._index += 1
        self._tell(self._first, merged)

    def _ended(self, host: str, event: e.Finished) -> None:
        if host not in self._left:
            return
        before = self._endings.get(host)
        elapsed = event.elapsed_s + (before.elapsed_s if before else 0.0)
        self._endings[host] = replace(event, elapsed_s=elapsed)
        self._left.discard(host)
        if event.status != "ok":
            self._out.add(host)
        self._next()

    def _over(self) -> None:
        """Once every worker has finished its current process, start the next processes or report the end."""
        lasting = set(self.parts) - self._out
        if self._worker + 1 < self._processes and lasting and not self._stopped:
            self._begin(self._worker + 1)
            return
        for host, seconds in self._imports.items():
            took = statistics.median(seconds)
            name = host or LOCAL
            text = f"{name}: importing TensorFlow takes {took:.2f} s (median of {len(seconds)})"
            self._tell(host, e.Fact(run=self._run, name=f"{name}/import_s", value=took, text=text))
        for host, ending in self._endings.items():
            self._tell(host, ending)
