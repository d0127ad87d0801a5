"""Runs the rounds: each arm takes one turn per round, in random order, until all arms are precise or the time
is up.
"""

from collections.abc import Callable, Sequence

from tuilab.analysis.statistics import estimate
from tuilab.model.events import Block, HostWatched, Round
from tuilab.worker.context import Cancelled
from tuilab.worker.measure import interference
from tuilab.worker.measure.bench import Bench, TimedArm


def strides(costs: Sequence[float], rounds: int, limit_s: float) -> list[int]:
    """Return the number of rounds between the turns of each arm, such that `rounds` rounds fit into
    `limit_s`.

    costs: seconds of one block of each arm. If running all arms in every round would exceed `limit_s`, the
    time is shared max–min fair (water-filling): cheap arms keep all of their `rounds` turns, and expensive
    arms share the rest equally, with at least one turn each. So a 10 s call does not starve 5 ms calls, or
    vice versa.
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
    """Return the indices of the finished arms that stay in the rounds.

    finished: seconds per block of each finished arm. unfinished_s: seconds per block of all unfinished arms
    together. Ratios pair blocks of the same round, so finished arms are worth keeping while others continue.
    The cheapest arms stay as long as their total cost does not exceed that of the unfinished arms, so a round
    takes at most twice the necessary time.
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
"""Maximum share of the time that repeats of disturbed rounds may take. Without this limit, repeats would take
all of the time on a busy machine, where every round is disturbed.
"""

SLOW_S = 0.5
"""In seconds. A block that is expected to take longer is announced, so that the screen does not seem
frozen.
"""

Fail = Callable[[TimedArm, BaseException], None]


class RoundRobin:
    """Measures arms until each is precise enough or `limit_s` is over; stops only at the end of a round.

    An arm that raises an error is removed and passed to `fail`; the others continue. Every arm gets at least
    one block. If that block exceeds an equal share of the limit, the excess is added to the limit. watch: a
    host watch that is already running.
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
        self._free_s, self._arms = 0.0, len(cells)
        self._counted = interference.read_counters()
        self._watch, self._watched = watch or interference.HostWatch(), watch is not None
        every = strides([cell.cost_s for cell in cells], self._budget.rounds, limit_s)
        self._every = {id(cell): stride for cell, stride in zip(cells, every, strict=True)}

    def run(self) -> None:
        """Run all rounds. If cancelled, report the interrupted round's figures and raise Cancelled."""
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
            # If workers take turns, the runner renumbers their merged rounds, and the windows' round indices
            # would be wrong.
            if windows and not self._bench.request.turns:
                self._bench.reporter.say(HostWatched(run=self._bench.run, windows=windows))
            self._bench.reporter.flush()

    def _let_others(self) -> None:
        """Let the run's other workers take their turns, without counting that time towards this worker's
        limit.
        """
        before, begun = interference.read_counters(), self._bench.stopwatch.now()
        self._bench.wait_for_turn()
        self._counted = self._counted.without(before, interference.read_counters())
        self._begun += self._bench.stopwatch.now() - begun
        self._bench.canary.start()

    def finished(self, cell: TimedArm) -> bool:
        if len(cell.samples) < self._budget.rounds:
            return False
        if 0 < self._budget.chase_s <= self._elapsed - self._free_s:
            return True
        known = estimate(cell.samples)
        half = known.relative_half_width if known else None
        return half is not None and half <= self._budget.precision

    @property
    def _elapsed(self) -> float:
        return self._bench.stopwatch.now() - self._begun

    @property
    def _left_s(self) -> float:
        return self._limit_s + self._free_s - self._elapsed

    def _due(self, cell: TimedArm, index: int) -> bool:
        return index % self._every[id(cell)] == 0

    def _fits(self, cell: TimedArm) -> bool:
        return not cell.samples or cell.cost_s <= self._left_s

    def _wanted(self) -> list[TimedArm]:
        return [cell for cell in self._cells if self._fits(cell) and not self.finished(cell)]

    def _companions(self, due: list[TimedArm], index: int) -> list[TimedArm]:
        others = [c for c in self._cells if c not in due and self._due(c, index) and self._fits(c)]
        stay = companions([c.cost_s for c in others], sum(c.cost_s for c in due))
        return [others[i] for i in stay]

    def _round(self, turn: list[TimedArm]) -> None:
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
            if not moved or not allowed or self._left_s < spent:
                break
            attempt, self._wasted_s = attempt + 1, self._wasted_s + spent
        self._bench.canary.accept()
        self._bench.disturbed += moved
        self._accept(blocks, song, attempt > 0)
        self._watch.after(song, self._bench.rounds - 1)
        if self._bench.starts is not None:
            self._bench.starts.after_round(self._bench.stopwatches.get("CPU:0", self._bench.stopwatch))

    def _visit(self, cell: TimedArm, blocks: list[Block]) -> None:
        bench = self._bench
        bench.check()
        if cell.cost_s > SLOW_S:
            bench.progress("measuring", self._elapsed, self._elapsed + self._left_s, "s", cell.arm.id)
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
        if not cell.samples:
            # The first block of an arm may exceed the arm's share of the time, but must not starve the other
            # arms.
            self._free_s += max(0.0, cell.visit_s - self._limit_s / self._arms)
        blocks.append(
            Block(arm=cell.arm.id, point=cell.point, calls=cell.calls, seconds=seconds, latency_s=latency)
        )

    def _accept(self, blocks: list[Block], song: float | None, repeated: bool) -> None:
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
            bench.progress("measuring", self._elapsed, self._elapsed + self._left_s, "s")
            bench.reporter.settle()
