"""Assigns jobs to nodes, one at a time per node. If a node dies, another node gets its job."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from tuilab.fleet.grid import Address, Grid, NodeLost, NodeUnfit
from tuilab.fleet.jobs import Job, lacks
from tuilab.fleet.messages import JobResult, Task
from tuilab.model.events import PROTOCOL
from tuilab.model.machine import Machine

POLL_S = 0.5
PATIENCE_S = 60.0
STOP_S = 5.0
"""Seconds for a stopped node to send its data."""
MOST_LOST = 3
"""Number of nodes that may be lost during the same job before the job is given up."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The current activity of a node, for display. done: number of finished jobs on all nodes. total: number
    of all jobs.

    step: True if an activity starts or ends. grave: True if something unusual happened.
    """

    node: str
    text: str
    done: int
    total: int
    step: bool = True
    grave: bool = False


@dataclass
class NodeSlot:
    """A node that works for the scheduler. label: its name in displays and in the record."""

    address: Address
    label: str = ""
    machine: Machine | None = None
    cell: Job | None = None
    run: str = ""


Taken = Callable[[Job, NodeSlot, JobResult], None]


@dataclass
class Scheduler:
    """Measures jobs on a grid. Calls `taken` exactly once for each measured job. Does not close the grid.

    families: device families that the jobs need; a node stays idle if it lacks a family that another node
    has. failed: jobs that were given up, with the reasons.
    """

    grid: Grid
    families: Sequence[str]
    taken: Taken
    say: Callable[[Progress], None] = lambda news: None
    poll_s: float = POLL_S
    patience_s: float = PATIENCE_S
    topic: str = "tuilab"
    total: int = 0
    done: int = 0
    failed: dict[int, str] = field(default_factory=dict)
    hands: dict[str, NodeSlot] = field(default_factory=dict)
    stopping: bool = False
    _pending: deque[Job] = field(default_factory=deque)
    _lost: dict[int, int] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _spent: set[str] = field(default_factory=set)
    _change: asyncio.Event = field(default_factory=asyncio.Event)
    _quiet: asyncio.Event = field(default_factory=asyncio.Event)

    async def machines(self) -> list[Machine]:
        """Greet every node; return the machines after all nodes have answered. Empty if there are no
        nodes.
        """
        self.grid.on_progress(self.topic, self._hear)
        waited = 0.0
        while not self.stopping:
            await self._look()
            if self.hands and all(hand.machine or place in self._spent for place, hand in self.hands.items()):
                break
            if not self.hands and not waited:
                self.say(Progress(node="", text="waiting for a node …", done=0, total=0))
            waited = 0.0 if self.hands else waited + self.poll_s
            if waited >= self.patience_s:
                break
            await self._pause()
        return [hand.machine for hand in self._fit() if hand.machine is not None]

    async def run(self, cells: Sequence[Job]) -> None:
        """Measure these jobs. Returns when each job is measured or given up, or when all nodes have
        stopped.
        """
        self._pending.extend(cells)
        self.total += len(cells)
        waited = 0.0
        while not self.stopping and self.done + len(self.failed) < self.total:
            await self._look()
            working = any(hand.cell is not None or hand.machine is None for hand in self._fit())
            self._give()
            waited = 0.0 if working or self._fit() else waited + self.poll_s
            if waited >= self.patience_s:
                self._give_up("no node is left to measure this job")
            await self._pause()
        if self.stopping:
            await self._quiet.wait()

    async def stop(self) -> None:
        """Stop every node and collect its data."""
        self.stopping = True
        self._change.set()
        await self.grid.stop()
        at_work = [task for place, task in self._tasks.items() if self._busy(place)]
        if at_work:
            await asyncio.wait(at_work, timeout=STOP_S)
        self._quiet.set()

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _busy(self, place: str) -> bool:
        return place in self.hands and self.hands[place].cell is not None

    def _fit(self) -> list[NodeSlot]:
        return [hand for place, hand in self.hands.items() if place not in self._spent]

    async def _pause(self) -> None:
        """Wait until the state of a node changes, or until the next check for new nodes. Re-raises the
        exception of a failed task.
        """
        try:
            await asyncio.wait_for(self._change.wait(), self.poll_s)
        except TimeoutError:
            pass
        self._change.clear()
        for task in self._tasks.values():
            if task.done() and not task.cancelled():
                task.result()

    async def _look(self) -> None:
        """Add new nodes, and drop nodes that have left."""
        there = await self.grid.nodes()
        for place in list(self.hands):
            if place not in there:
                self._drop(place, "has gone")
        for place, address in there.items():
            if place not in self.hands:
                self.hands[place] = NodeSlot(address)
                self._tasks[place] = asyncio.create_task(self._greet(self.hands[place]))

    def _drop(self, place: str, why: str) -> None:
        hand, task = self.hands.pop(place), self._tasks.pop(place, None)
        self._spent.discard(place)
        if task is not None:
            task.cancel()
        if hand.label:
            self._tell(hand, why, grave=True)
        if hand.cell is not None:
            self._return(hand)

    def _return(self, hand: NodeSlot) -> None:
        """Give the job of a lost node to another node, unless the job has already lost MOST_LOST nodes."""
        cell, hand.cell, hand.run = hand.cell, None, ""
        assert cell is not None
        self._lost[cell.key] = self._lost.get(cell.key, 0) + 1
        if self._lost[cell.key] >= MOST_LOST:
            self.failed[cell.key] = f"{MOST_LOST} nodes were lost while measuring this job"
        else:
            self._pending.appendleft(cell)

    async def _greet(self, hand: NodeSlot) -> None:
        place = hand.address.place
        try:
            greeting = await self.grid.greet(hand.address)
        except NodeLost:
            self._spent.add(place)
        except NodeUnfit as error:
            self._leave_out(hand, str(error))
        else:
            if greeting.machine is None:
                self._leave_out(hand, greeting.problem)
            elif greeting.protocol != PROTOCOL:
                theirs = f"tuilab {greeting.tuilab} there speaks protocol {greeting.protocol}"
                words = f"{theirs}, but this one speaks {PROTOCOL}"
                self._leave_out(hand, f"{words}; install the same version of tuilab on both")
            else:
                self._take_in(hand, greeting.machine)
        self._change.set()

    def _take_in(self, hand: NodeSlot, machine: Machine) -> None:
        beside = [o.label for o in self._fit() if o.machine is not None and o.machine.host == machine.host]
        hand.label, hand.machine = self._label(hand.address, machine.host), machine
        self._tell(hand, "ready")
        if beside:
            words = (
                f"is on the same machine as {beside[0]}, and they would disturb each other; start one "
                "node per machine"
            )
            self._tell(hand, words, grave=True)

    def _label(self, address: Address, host: str) -> str:
        """Return a unique label for a node: the name of its machine and, if the user named the node, this
        name. If another node has the same label, adds the port.
        """
        taken = {hand.label for hand in self.hands.values()}
        port = address.place.rpartition(":")[2]
        named = f"{host}/{address.name}" if address.name and address.name != address.place else host
        return next(label for label in (named, f"{named}:{port}", address.place) if label not in taken)

    def _leave_out(self, hand: NodeSlot, why: str) -> None:
        self._spent.add(hand.address.place)
        hand.label = hand.label or hand.address.name or hand.address.place
        self._tell(hand, f"is skipped: {why}", grave=True)

    def _give(self) -> None:
        for hand in self._fit():
            if hand.machine is None or hand.cell is not None or not self._pending:
                continue
            others = [other.machine for other in self._fit() if other.machine is not None]
            if kind := lacks(hand.machine, self.families, others):
                self._leave_out(hand, f"it has no {kind}, which other nodes have")
                continue
            hand.cell = self._pending.popleft()
            self._tasks[hand.address.place] = asyncio.create_task(self._measure(hand, hand.cell))

    async def _measure(self, hand: NodeSlot, cell: Job) -> None:
        assert hand.machine is not None
        request = cell.make(hand.machine)
        hand.run = request.id
        self._tell(hand, f"{cell.name}: begins")
        try:
            visit = await self.grid.measure(hand.address, Task(request=request, topic=self.topic))
        except NodeLost:
            self._return(hand)
        except NodeUnfit as error:
            self._leave_out(hand, str(error))
            self._return(hand)
        else:
            hand.cell, hand.run = None, ""
            self.done += 1
            self.taken(cell, hand, visit)
            self._tell(hand, f"{cell.name}: done")
        self._change.set()

    def _give_up(self, why: str) -> None:
        while self._pending:
            self.failed[self._pending.popleft().key] = why

    def _hear(self, run: str, words: str) -> None:
        for hand in self.hands.values():
            if hand.run == run and hand.cell is not None:
                self._tell(hand, f"{hand.cell.name}: {words}", step=False)

    def _tell(self, hand: NodeSlot, text: str, step: bool = True, grave: bool = False) -> None:
        news = Progress(node=hand.label, text=text, done=self.done, total=self.total, step=step, grave=grave)
        self.say(news)
