"""A run's state, computed from its events. A replay gives the same state as the live run."""

from array import array
from dataclasses import dataclass, field
from math import inf
from operator import truediv
from sys import intern

from tuilab.model.account import Account
from tuilab.model.arms import Arm, labels
from tuilab.model.events import (
    Accounted,
    ArmStatus,
    Caveat,
    Ending,
    Event,
    Fact,
    Finished,
    FirstCalls,
    HostWatched,
    HostWindow,
    LayersKnown,
    Log,
    MachineJoined,
    ModelOpened,
    Node,
    Placement,
    Point,
    PointAdded,
    Profiled,
    Progress,
    RoofsKnown,
    Round,
    RunsAlike,
    RunStarted,
    Status,
    WarmedUp,
    WarmUp,
    WorkKnown,
)
from tuilab.model.machine import Machine
from tuilab.model.models import LayerWork, ModelInfo
from tuilab.model.profile import Profile
from tuilab.model.roofline import Roofs, Work
from tuilab.model.rounds import Rounds
from tuilab.model.scenario import Budget, Scenario, Sweep


@dataclass
class ArmSamples:
    samples: "array[float]" = field(default_factory=lambda: array("d"))
    """Seconds per call, one per round."""
    rounds: "array[int]" = field(default_factory=lambda: array("i"))
    begun: "array[int]" = field(default_factory=lambda: array("i"))
    """Index of the first round of each process after the first; empty if one process measured everything."""
    zygotes: "array[int]" = field(default_factory=lambda: array("i"))
    """For each process after the first: the index of the zygote that forked it; -1 for a fresh process."""
    calls: "array[int]" = field(default_factory=lambda: array("q"))
    latencies: "array[float]" = field(default_factory=lambda: array("d"))
    fastest: float = inf
    slowest: float = -inf
    first_s: float | None = None
    second_s: float | None = None
    warming: "array[float]" = field(default_factory=lambda: array("d"))
    """Warm-up samples in seconds per call, starting with the second call. No figure includes them.

    An array, because a list would need four times the memory.
    """
    warm: bool | None = None
    warm_s: float = 0.0
    account: Account | None = None
    """The time account of a call as measured, without the profiler. `analysis` scales it to the arm's median.
    """
    status: Status | None = None
    reason: str = ""
    detail: str = ""
    error: tuple[str, ...] = ()
    device: str | None = None
    known: dict[object, tuple[list[tuple[int, int]], "tuple[ArmSamples, ...]", object]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Cache of figures computed from the samples (`statistics.once`)."""

    def account_for(self, account: Account) -> None:
        """Set the account, and drop the figures that were computed from the old one."""
        self.account = account
        self.known.pop("account", None)


@dataclass
class ArmState:
    arm: Arm
    label: str
    status: Status | None = None
    device: str | None = None
    reason: str = ""
    detail: str = ""
    error: tuple[str, ...] = ()
    cells: dict[int, ArmSamples] = field(default_factory=dict)
    placement: dict[int, list[Node]] = field(default_factory=dict)
    """The ops at each point. `placed_in` holds, for each point, the number of the process that reported the
    ops, from 1.
    """
    placed_in: dict[int, int] = field(default_factory=dict)
    work: dict[int, Work] = field(default_factory=dict)
    layers: dict[int, tuple[LayerWork, ...]] = field(default_factory=dict)
    flags: list[Caveat] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    profile: Profile | None = None

    def cell(self, point: int = 0) -> ArmSamples:
        """Return the arm's samples at that point, creating an empty entry if necessary."""
        return self.cells.setdefault(point, ArmSamples())


@dataclass
class RunState:
    """The state of one run after all events so far."""

    run: str = ""
    scenario: Scenario | None = None
    preset: str = ""
    apart: str = ""
    budget: Budget | None = None
    machine: Machine | None = None
    machines: dict[str, Machine] = field(default_factory=dict)
    """The machine of each host, by the host's name in the arms ("" for this host)."""
    where: dict[int, str] = field(default_factory=dict)
    """In a fleet, the node that measured each point."""
    roofs: dict[str, Roofs] = field(default_factory=dict)
    """Each machine's roofs (hardware limits), by `Machine.key`."""
    model: ModelInfo | None = None
    alike: RunsAlike | None = None
    sweep: Sweep | None = None
    at: str = ""
    arms: dict[str, ArmState] = field(default_factory=dict)
    points: list[Point] = field(default_factory=list)
    progress: Progress | None = None
    rounds: int = 0
    canaries: "array[float]" = field(default_factory=lambda: array("d"))
    windows: list[HostWindow] = field(default_factory=list)
    """Load from other processes, by range of rounds; empty if several hosts or workers share the rounds."""
    process_began: int = 0
    """Index of the first round of the latest process."""
    process_points: tuple[int, ...] = ()
    """Sweep points that the latest process measures; empty for all points, as in a run's first process."""
    process_begun: set[int] = field(default_factory=set)
    """Points for which the latest process has sent an event."""
    repeated: int = 0
    timed_s: float = 0.0
    ended_s: float = 0.0
    """Seconds of the rounds of all ended processes."""
    process_s: float = 0.0
    """Seconds of the rounds of the latest process."""
    workers: int = 0
    flags: list[Caveat] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    log: list[Log] = field(default_factory=list)
    status: Ending | None = None
    message: str = ""
    detail: str = ""
    reached: float | None = None
    version: int = 0

    @property
    def running(self) -> bool:
        return bool(self.run) and self.status is None

    @property
    def every_fact(self) -> list[Fact]:
        """The facts about the whole run, then those about its arms."""
        return [*self.facts, *(fact for arm in self.arms.values() for fact in arm.facts)]

    @property
    def sampled_points(self) -> set[int]:
        """The points at which an arm has samples."""
        return {point for arm in self.arms.values() for point, cell in arm.cells.items() if cell.samples}

    def point(self, index: int) -> Point | None:
        """Return the point with that index; None if the run has not announced it."""
        return next((point for point in self.points if point.index == index), None)

    @property
    def elapsed_s(self) -> float:
        return self.ended_s + self.process_s

    def apply(self, event: Event) -> bool:
        """Update the state with an event; return False if the event belongs to another run."""
        if isinstance(event, RunStarted):
            self._start(event)
        elif getattr(event, "run", None) != self.run or not self.run:
            return False
        else:
            self._fold(event)
        self.version += 1
        return True

    def _start(self, event: RunStarted) -> None:
        if event.worker > 0 and event.run == self.run:
            self.workers, self.budget = event.worker + 1, event.budget
            self.process_began = self.rounds
            self.process_points, self.process_begun = tuple(point.index for point in event.points), set()
            # another process has started, so the run is not over
            self.status, self.message, self.detail = None, "", ""
            self._begin(-1 if event.zygote is None else event.zygote)
            return
        vars(self).update(vars(RunState()))
        self.run, self.scenario = event.run, event.scenario
        self.preset, self.apart = event.preset, event.apart
        self.budget, self.machine, self.at = event.budget, event.machine, event.at
        self.sweep, self.points, self.workers = event.sweep, list(event.points), 1
        hosts = {arm.host for arm in event.arms} or {""}
        # If there are several hosts, each reports its own machine.
        self.machines = {hosts.pop(): event.machine} if len(hosts) == 1 else {}
        for arm, label in zip(event.arms, labels(event.arms), strict=True):
            self.arms[arm.id] = ArmState(arm, label)

    def _begin(self, zygote: int) -> None:
        """Record that a new process measures all rounds from now on."""
        for arm in self.arms.values():
            for cell in arm.cells.values():
                if cell.samples and (not cell.begun or cell.begun[-1] != self.rounds):
                    cell.begun.append(self.rounds)
                    cell.zygotes.append(zygote)

    def _fold(self, event: Event) -> None:
        if isinstance(event, Round):
            self._round(event)
        elif isinstance(event, HostWatched):
            self._watched(event)
        elif isinstance(event, Progress):
            self.progress = event
        elif isinstance(event, MachineJoined):
            if event.points:
                self.machines.pop("", None)  # in a fleet, the nodes measure, not this machine
            self.machines[event.host] = event.machine
            self.where.update(dict.fromkeys(event.points, event.host))
        elif isinstance(event, PointAdded):
            self.points.append(event.point)
        elif isinstance(event, ModelOpened):
            self.model = event.model
        elif isinstance(event, RoofsKnown):
            self.roofs[event.roofs.machine] = event.roofs
        elif isinstance(event, RunsAlike):
            self.alike = event
        elif isinstance(event, Log):
            self.log.append(event)
        elif isinstance(event, Finished):
            self.status, self.message, self.detail = event.status, event.message, event.detail
            self.reached, self.progress = event.reached, None
        elif getattr(event, "arm", "") in self.arms:
            self._arm(self.arms[event.arm], event)  # type: ignore[union-attr]
        elif isinstance(event, Caveat):
            self.flags.append(event)
        elif isinstance(event, Fact):
            self.facts.append(event)

    def _watched(self, event: HostWatched) -> None:
        if len({(arm.arm.host, arm.arm.together) for arm in self.arms.values()}) > 1:
            return  # processes that take turns do not know the run's round numbers
        for seen in event.windows:
            first = self.process_began + seen.first
            self.windows.append(HostWindow(first, seen.rounds, seen.others, seen.canary_s))

    def _round(self, event: Round) -> None:
        index = self.rounds
        for block in event.blocks:
            state = self.arms.get(block.arm)
            if state is None:
                continue
            cell = state.cell(block.point)
            sample = block.per_call_s
            cell.samples.append(sample)
            cell.fastest, cell.slowest = min(cell.fastest, sample), max(cell.slowest, sample)
            cell.rounds.append(index)
            cell.calls.append(block.calls)
            if block.latency_s is not None:
                cell.latencies.append(block.latency_s)
        self.rounds += 1
        self.repeated += event.repeated
        self.timed_s += event.timed_s
        self._elapse(event.elapsed_s)
        self.progress = None
        if event.canary_s is not None:
            self.canaries.append(event.canary_s)

    def take(self, rounds: Rounds) -> None:
        """Update the state with many rounds at once. The result equals that of `apply` for each round."""
        if rounds.run != self.run or not self.run:
            return
        for part in rounds.cells:
            state = self.arms.get(part.arm)
            if state is None:
                continue
            cell = state.cell(part.point)
            samples = array("d", map(truediv, part.seconds, part.calls))
            cell.samples.extend(samples)
            cell.fastest, cell.slowest = min(cell.fastest, min(samples)), max(cell.slowest, max(samples))
            if part.rounds is None:
                cell.rounds.extend(array("i", range(self.rounds, self.rounds + rounds.count)))
            else:
                cell.rounds.extend(array("i", [self.rounds + i for i in part.rounds]))
            cell.calls.extend(part.calls)
            cell.latencies.extend(part.latencies)
        self.rounds += rounds.count
        self.repeated += rounds.repeated
        self.timed_s = rounds.timed_s
        for process_s in rounds.elapsed:
            self._elapse(process_s)
        self.progress = None
        self.canaries.extend(rounds.canaries)
        self.version += rounds.count

    def _elapse(self, process_s: float) -> None:
        if process_s < self.process_s:  # the elapsed time starts at 0 in each process
            self.ended_s += self.process_s
        self.process_s = process_s

    def _arm(self, state: ArmState, event: Event) -> None:
        if (point := getattr(event, "point", None)) is not None:
            self.process_begun.add(point)
        if isinstance(event, ArmStatus):
            if event.point is None:
                state.status, state.device = event.status, event.device or state.device
                state.reason, state.detail, state.error = event.reason, event.detail, event.error
                return
            cell = state.cell(event.point)
            cell.status, cell.device, cell.reason = event.status, event.device, event.reason
            cell.detail, cell.error = event.detail, event.error
        elif isinstance(event, FirstCalls):
            cell = state.cell(event.point)
            # Keep the first process's figures, because first calls differ in fresh and forked processes.
            if cell.first_s is None:
                cell.first_s, cell.second_s = event.first_s, event.second_s
            cell.warming.append(event.second_s)
        elif isinstance(event, WarmUp):
            state.cell(event.point).warming.extend(event.samples_s)
        elif isinstance(event, WarmedUp):
            cell = state.cell(event.point)
            cell.warm, cell.warm_s = event.warm, event.seconds
        elif isinstance(event, Accounted):
            state.cell(event.point).account_for(event.account)
        elif isinstance(event, Placement):
            if state.placed_in.get(event.point) != self.workers:
                # Another process reports the same ops again, so replace the earlier report.
                state.placement[event.point], state.placed_in[event.point] = [], self.workers
            state.placement[event.point].extend(map(_shared, event.nodes))
        elif isinstance(event, WorkKnown):
            state.work[event.point] = event.work
        elif isinstance(event, LayersKnown):
            state.layers[event.point] = event.layers
        elif isinstance(event, Caveat):
            state.flags.append(event)
        elif isinstance(event, Fact):
            state.facts.append(event)
        elif isinstance(event, Profiled):
            state.profile = event.profile


def _shared(node: Node) -> Node:
    """Return a copy of the node with interned strings.

    This saves memory, because the nodes of a large graph repeat a few strings.
    """
    return Node(
        name=node.name,
        op=intern(node.op),
        device=intern(node.device),
        kind=node.kind,
        to=intern(node.to),
        memory=intern(node.memory),
        dtype=intern(node.dtype),
        requested=intern(node.requested),
        reason=intern(node.reason),
        bytes=node.bytes,
        count=node.count,
        gpu=node.gpu,
        evidence=intern(node.evidence),
        layer=intern(node.layer),
        code=intern(node.code),
    )
