"""Rounds: every arm takes its turn once, in random order, until all are known well or the time is over."""

from collections.abc import Callable, Sequence

from tuilab.analysis.statistics import estimate
from tuilab.model.events import Block, HostWatched, Round
from tuilab.worker.context import Cancelled
from tuilab.worker.measure import interference
from tuilab.worker.measure.bench import Bench, TimedArm


def strides(costs: Sequence[float], rounds: int, limit_s: float) -> list[int]:
    """Return every how many rounds each cell has its turn, so that the wanted rounds fit into the limit.

    costs: seconds of one block of each cell. Where all cells every round would take longer than `limit_s`,
    the time is shared out as water fills vessels: cheap cells keep all of their `rounds` turns, and what
    they leave is split evenly among the expensive ones, each of which has one turn at least. A 10 s call
    alongside 5 ms ones then neither starves them nor is starved.
    """
    left, waiting, most = limit_s, len(costs), rounds
    turns = [rounds] * len(costs)
    for index in sorted(range(len(costs)), key=costs.__getitem__):
        share = left / waiting
        if costs[index] * most > share:
            most = max(1, min(most, int(share / costs[index])))
        turns[index] = most
        left -= turns[index] * costs[index]
        waiting -= 1
    return [-(-rounds // turn) for turn in turns]


def companions(finished: Sequence[float], unfinished_s: float) -> list[int]:
    """Return which finished cells stay in the rounds, as indices into `finished` (their blocks' seconds).

    Ratios pair blocks of the same round, so a finished cell is worth keeping while others continue. The
    cheapest stay as long as they together cost no more than the unfinished ones: a round is at most twice as
    long as it has to be.
    """
    stay, spent = [], 0.0
    for index in sorted(range(len(finished)), key=finished.__getitem__):
        spent += finished[index]
        if spent > unfinished_s:
            break
        stay.append(index)
    return stay


REPEATS = 2
WASTE_SHARE = 0.05
"""Disturbed rounds are repeated twice at most, and cost no more than this share of the time so far: if the
machine is never still, disturbed rounds are what there is to measure."""

SLOW_S = 0.5
"""A block expected to last longer is announced, so that the screen does not seem to stand still."""

Fail = Callable[[TimedArm, BaseException], None]


class RoundRobin:
    """Measures cells until each is known well enough, or `limit_s` is over; stops only at a round's end.

    A cell that raises leaves, and `fail` is reported; the others continue. Every cell has one block at least,
    however long its call. watch: one that has begun already.
    """

    def __init__(
        self,
        bench: Bench,
        cells: Sequence[TimedArm],
        limit_s: float,
        fail: Fail,
        watch: interference.HostWatch | None = None,
    ) -> None:
        self._bench, self._cells, self._limit_s, self._fail = bench, list(cells), limit_s, fail
        self._budget = bench.budget
        self._begun = bench.stopwatch.now()
        self._before_s, self._wasted_s = bench.elapsed_s, 0.0
        self._counted = interference.read_counters()
        self._watch, self._watched = watch or interference.HostWatch(), watch is not None
        every = strides([cell.cost_s for cell in cells], self._budget.rounds, limit_s)
        self._every = {id(cell): stride for cell, stride in zip(cells, every, strict=True)}

    def run(self) -> None:
        """Run all rounds. Raises Cancelled, once what the broken-off round had measured is said."""
        self._bench.reporter.settle()
        self._counted = interference.read_counters()
        self._bench.canary.start()
        if not self._watched:
            self._watch.start(self._bench.rounds)
        index = 0
        try:
            while wanted := self._wanted():
                due = [cell for cell in wanted if self._due(cell, index)]
                if due:
                    if self._bench.request.turns:
                        self._let_others()
                    self._round(due + self._companions(due, index))
                index += 1
        finally:
            self._bench.elapsed_s = self._before_s + self._elapsed
            seen = interference.pressure_since(self._counted)
            self._bench.pressures += [seen] if seen else []
            windows = self._watch.windows(self._bench.rounds)
            # Rounds of workers that take turns are put together elsewhere, where they have other numbers.
            if windows and not self._bench.request.turns:
                self._bench.reporter.say(HostWatched(run=self._bench.run, windows=windows))
            self._bench.reporter.flush()

    def _let_others(self) -> None:
        """The other workers' turns, which are none of this one's time."""
        before, begun = interference.read_counters(), self._bench.stopwatch.now()
        self._bench.wait_for_turn()
        self._counted = self._counted.without(before, interference.read_counters())
        self._begun += self._bench.stopwatch.now() - begun
        self._bench.canary.start()

    def finished(self, cell: TimedArm) -> bool:
        """Return whether a cell has the rounds and precision of the budget, or gets no more time."""
        if len(cell.samples) < self._budget.rounds:
            return False
        if 0 < self._budget.chase_s <= self._elapsed:
            return True
        known = estimate(cell.samples)
        half = known.relative_half_width if known else None
        return half is not None and half <= self._budget.precision

    @property
    def _elapsed(self) -> float:
        return self._bench.stopwatch.now() - self._begun

    def _due(self, cell: TimedArm, index: int) -> bool:
        return index % self._every[id(cell)] == 0

    def _fits(self, cell: TimedArm) -> bool:
        return not cell.samples or cell.cost_s <= self._limit_s - self._elapsed

    def _wanted(self) -> list[TimedArm]:
        """The cells that need more and whose next block ends within the limit."""
        return [cell for cell in self._cells if self._fits(cell) and not self.finished(cell)]

    def _companions(self, due: list[TimedArm], index: int) -> list[TimedArm]:
        others = [c for c in self._cells if c not in due and self._due(c, index) and self._fits(c)]
        stay = companions([c.cost_s for c in others], sum(c.cost_s for c in due))
        return [others[i] for i in stay]

    def _round(self, turn: list[TimedArm]) -> None:
        """One round, repeated where the canary says that the machine was disturbed meanwhile."""
        self._bench.random.shuffle(turn)
        attempt = 0
        while True:
            begun = self._elapsed
            blocks: list[Block] = []
            try:
                for cell in [cell for cell in turn if cell in self._cells]:
                    self._visit(cell, blocks)
            except Cancelled:
                self._accept(blocks, None, attempt > 0)
                raise
            song, moved = self._bench.canary.after()
            spent = self._elapsed - begun
            allowed = attempt < REPEATS and self._wasted_s + spent <= WASTE_SHARE * self._elapsed
            if not moved or not allowed or self._limit_s - self._elapsed < spent:
                break
            attempt, self._wasted_s = attempt + 1, self._wasted_s + spent
        self._bench.canary.accept()
        self._bench.disturbed += moved
        self._accept(blocks, song, attempt > 0)
        self._watch.after(song, self._bench.rounds - 1)

    def _visit(self, cell: TimedArm, blocks: list[Block]) -> None:
        """One block of one cell, and a single call alongside it where that is another thing."""
        bench = self._bench
        bench.check()
        if cell.cost_s > SLOW_S:
            bench.progress("measuring", self._elapsed, self._limit_s, "s", cell.arm.id)
            bench.reporter.settle()
        begun = bench.stopwatch.now()
        try:
            stopwatch = bench.stopwatch_of(cell)
            seconds, latency = stopwatch.visit(cell.case, cell.calls, latency=bench.request.latency)
        except (Exception, SystemExit) as error:
            self._cells.remove(cell)
            self._fail(cell, error)
            return
        cell.visit_s = bench.stopwatch.now() - begun
        blocks.append(
            Block(arm=cell.arm.id, point=cell.point, calls=cell.calls, seconds=seconds, latency_s=latency)
        )

    def _accept(self, blocks: list[Block], song: float | None, repeated: bool) -> None:
        """Take the round's figures in and say them."""
        if not blocks:
            return
        bench, cells = self._bench, {cell.arm.id: cell for cell in self._cells}
        for block in blocks:
            cell = cells.get(block.arm)
            if cell is None:
                continue
            cell.samples.append(block.per_call_s)
            cell.call_s = block.per_call_s
            if block.latency_s is not None:
                cell.latencies.append(block.latency_s)
        event = Round(
            run=bench.run,
            index=bench.rounds,
            blocks=tuple(blocks),
            elapsed_s=self._before_s + self._elapsed,
            timed_s=sum(b.seconds + (b.latency_s or 0.0) * (b.calls > 1) for b in blocks),
            canary_s=song,
            repeated=repeated,
            worker=bench.request.worker,
        )
        bench.rounds += 1
        if bench.reporter.round(event):
            bench.progress("measuring", self._elapsed, self._limit_s, "s")
            bench.reporter.settle()
