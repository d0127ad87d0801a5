"""Environments on one machine take turns: only one works at a time, rounds are paired, and fresh processes
start together.
"""

import asyncio
from collections.abc import Callable

from tests.made import EAGER, machine, started
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.requests import Cancel, Measure, Turn
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.runner.turns import LEAST_PROCESSES, Turns


class Worker:
    """A scripted worker that records which other workers work during its turn."""

    at_work: "set[str]"
    most = 0

    def __init__(self, name: str, rounds: int, receive: Callable[[str, e.Event], None], at_work: set[str]):
        self.name, self.rounds, self.receive, self.at_work = name, rounds, receive, at_work
        self.asked: list[Measure] = []
        self.renewed = 0
        self._turn = asyncio.Event()
        self._cancelled = False
        self.fails_at = -1
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        pass

    async def renew(self) -> None:
        self.renewed += 1

    async def measure(self, request: Measure) -> None:
        self.asked.append(request)
        self.task = asyncio.create_task(self._carry_out(request))

    async def send(self, request: Turn | Cancel) -> None:
        self._turn.set()

    async def cancel(self, run: str) -> None:
        self._cancelled = True
        self._turn.set()

    async def _carry_out(self, request: Measure) -> None:
        run, arm = request.id, request.arms[0]
        self._begin()
        self.say(started(run, *request.arms, budget=request.budget, worker=request.worker))
        for index in range(self.rounds):
            await self._let_others(run)
            if self._cancelled:
                break
            if index == self.fails_at:
                self._end()
                self.say(e.Finished(run=run, status="failed", message="it died"))
                return
            block = e.Block(arm=arm.id, point=0, calls=1, seconds=1.0)
            self.say(
                e.Round(run=run, index=index, blocks=(block,), elapsed_s=index + 1.0, worker=request.worker)
            )
        self._end()
        self.say(e.Finished(run=run, status="cancelled" if self._cancelled else "ok", elapsed_s=1.0))

    async def _let_others(self, run: str) -> None:
        self._end()
        self._turn.clear()
        self.say(e.TurnOver(run=run))
        await self._turn.wait()
        self._begin()
        await asyncio.sleep(0)

    def _begin(self) -> None:
        self.at_work.add(self.name)
        assert len(self.at_work) == 1 or self._cancelled, self.at_work

    def _end(self) -> None:
        self.at_work.discard(self.name)

    def say(self, event: e.Event) -> None:
        self.receive(self.name, event)


class Party:
    """A runner for two workers that take turns, with the events of both workers."""

    def __init__(self, rounds: tuple[int, int] = (4, 4), budget: str = "quick", worker: int = 0) -> None:
        self.told: list[tuple[str, e.Event]] = []
        at_work: set[str] = set()
        self.workers = {
            name: Worker(name, count, self.receive, at_work) for name, count in zip("ab", rounds, strict=True)
        }
        scenario = Scenario("elementwise", {})
        parts = {
            name: Measure(
                id="r",
                scenario=scenario,
                arms=(arm_of(name),),
                budget=BUDGET[budget],
                worker=worker,  # type: ignore[index]
            )
            for name in "ab"
        }
        self.turns = Turns(self.workers, parts, lambda host, event: self.told.append((host, event)))

    def receive(self, host: str, event: e.Event) -> None:
        self.turns.receive(host, event)

    async def over(self) -> None:
        async with asyncio.timeout(20):
            while sum(isinstance(event, e.Finished) for _, event in self.told) < 2:
                await asyncio.sleep(0.001)

    def rounds(self) -> list[e.Round]:
        return [event for _, event in self.told if isinstance(event, e.Round)]


def arm_of(host: str) -> Arm:
    return Arm(EAGER.device, EAGER.mode, host=host)


async def test_the_rounds_of_a_cycle_are_sent_together_and_processes_start_together():
    party = Party()
    await party.turns.start()
    await party.over()
    rounds = party.rounds()
    assert len(rounds) == 4 * LEAST_PROCESSES
    both = {arm_of("a").id, arm_of("b").id}
    assert all({block.arm for block in each.blocks} == both for each in rounds)
    assert [each.index for each in rounds] == list(range(len(rounds)))
    for worker in party.workers.values():
        assert [request.worker for request in worker.asked] == list(range(LEAST_PROCESSES))
        assert worker.renewed == LEAST_PROCESSES - 1
        assert all(request.turns and request.budget.precision > 1 for request in worker.asked)
        assert not any(request.phases or request.placement for request in worker.asked[1:])


async def test_a_resumed_run_gets_its_missing_processes():
    for worker, further in ((1, [1, 2]), (2, [2]), (5, [5])):
        party = Party(worker=worker)
        await party.turns.start()
        await party.over()
        for each in party.workers.values():
            assert [request.worker for request in each.asked] == further
            assert each.renewed == len(further) - 1
        began = [host for host, event in party.told if isinstance(event, e.RunStarted)]
        assert set(began[:2]) == {"a", "b"}, "both join"


async def test_an_environment_with_more_rounds_continues_alone():
    party = Party(rounds=(2, 5))
    await party.turns.start()
    await party.over()
    sizes = [len(each.blocks) for each in party.rounds()]
    assert sizes == [2, 2, 1, 1, 1] * LEAST_PROCESSES


async def test_an_environment_that_disappears_ends_only_its_own_arms():
    party = Party()
    party.workers["a"].fails_at = 2
    await party.turns.start()
    await party.over()
    endings = {host: event.status for host, event in party.told if isinstance(event, e.Finished)}
    assert endings == {"a": "failed", "b": "ok"}
    assert len(party.workers["a"].asked) == 1 and len(party.workers["b"].asked) == LEAST_PROCESSES
    assert len(party.rounds()) == 4 * LEAST_PROCESSES


async def test_a_stop_ends_both_and_keeps_the_measurements():
    party = Party(rounds=(1_000_000, 1_000_000))
    await party.turns.start()
    async with asyncio.timeout(20):
        while len(party.rounds()) < 3:
            await asyncio.sleep(0)
    await party.turns.cancel()
    await party.over()
    assert {event.status for _, event in party.told if isinstance(event, e.Finished)} == {"cancelled"}
    assert len(party.rounds()) >= 3


async def test_import_times_of_fresh_processes_are_reported():
    party = Party()
    await party.turns.start()
    party.turns.receive("a", e.Ready(machine=machine(), import_s=2.0, start_s=0.1))
    party.turns.receive("a", e.Ready(machine=machine(), import_s=3.0, start_s=0.1))
    await party.over()
    facts = {event.name: event.value for _, event in party.told if isinstance(event, e.Fact)}
    assert facts == {"a/import_s": 2.5}
