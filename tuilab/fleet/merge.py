"""Merges the jobs of many nodes into one sweep, by giving their events the sweep's run id and point
numbers.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from tuilab.fleet.messages import JobResult
from tuilab.model import events as e
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.model.sanitize import sanitize

Listener = Callable[[e.Event], None]
replace = msgspec.structs.replace

UNLIKE = ("cpu", "tensorflow", "python", "driver")


class SweepRun:
    """Emits the events of a sweep as the results of the sweep's jobs arrive. request: the request for the
    whole sweep.
    """

    def __init__(self, request: Measure, on_event: Listener) -> None:
        self._request, self._on_event = request, on_event
        self._first: Machine | None = None
        self._nodes: dict[str, Machine] = {}
        self._ran: set[str] = set()
        self._troubles: dict[str, e.ArmStatus] = {}
        self._rounds = 0
        self._measured_s = 0.0

    def begin(self, machine: Machine, points: tuple[e.Point, ...]) -> None:
        """Emit the start of the sweep. machine: the machine of the first node."""
        request, self._first = self._request, machine
        self._on_event(
            e.RunStarted(
                run=request.id,
                scenario=request.scenario,
                arms=request.arms,
                points=points,
                budget=request.budget,
                machine=machine,
                at=datetime.now(UTC).isoformat(timespec="seconds"),
                preset=request.preset,
                apart=request.apart,
                sweep=request.sweep,
            )
        )

    def add(self, point: e.Point) -> None:
        """Announce a point that the scheduler added after the sweep began."""
        self._on_event(e.PointAdded(run=self._request.id, point=point))

    def take(self, point: int, node: str, machine: Machine, visit: JobResult) -> None:
        run = self._request.id
        joined = e.MachineJoined(
            run=run, host=node, machine=machine, points=(point,), began=visit.began, ended=visit.ended
        )
        self._on_event(joined)
        if node not in self._nodes:
            self._nodes[node] = machine
            self._say_if_unlike(node, machine)
        elapsed = 0.0
        for raw in visit.events:
            event = sanitize(e.decode(bytes(raw)))
            if isinstance(event, e.Round):
                elapsed = event.elapsed_s
            self._say(event, point, node)
        self._measured_s += elapsed

    def lose(self, point: int, reason: str) -> None:
        """Emit a failure of every arm at a point whose job was given up."""
        for arm in self._request.arms:
            self._trouble(arm.id, point, "failed", reason)

    def finish(self, status: e.Ending, message: str = "") -> None:
        """End the sweep. For each arm that ran at no point, emit the arm's last problem as the status of the
        whole arm.
        """
        for name, trouble in self._troubles.items():
            if name not in self._ran:
                self._on_event(replace(trouble, point=None))
        self._on_event(
            e.Finished(run=self._request.id, status=status, message=message, elapsed_s=self._measured_s)
        )

    def _say(self, event: e.Event, point: int, node: str) -> None:
        """Emit an event of a job as an event of the sweep. A job has a single point, whose index in the
        job's events is 0.
        """
        run = self._request.id
        match event:
            case e.RunStarted() | e.Progress() | e.HostWatched():
                return
            case e.Finished():
                if event.status == "failed":
                    for arm in self._request.arms:
                        self._trouble(arm.id, point, "failed", f"{node}: {event.message}", event.detail)
                return
            case e.Round():
                blocks = tuple(replace(block, point=point) for block in event.blocks)
                elapsed_s = self._measured_s + event.elapsed_s
                event = replace(event, run=run, index=self._rounds, blocks=blocks, elapsed_s=elapsed_s)
                self._rounds += 1
            case e.ArmStatus():
                self._status(event, point)
                return
            case e.Caveat(arm=""):
                event = replace(event, run=run, message=f"{node}: {event.message}")
            case (
                e.FirstCalls()
                | e.WarmUp()
                | e.WarmedUp()
                | e.Accounted()
                | e.Placement()
                | e.WorkKnown()
                | e.Fact()
                | e.Caveat()
            ):
                event = replace(event, run=run, point=point)
            case e.Log() | e.RoofsKnown() | e.ModelOpened():
                event = replace(event, run=run)
        self._on_event(event)

    def _status(self, event: e.ArmStatus, point: int) -> None:
        run = self._request.id
        if event.status == "ok":
            if event.arm not in self._ran:
                self._ran.add(event.arm)
                self._on_event(replace(event, run=run, point=None))
            self._on_event(replace(event, run=run, point=point))
            return
        self._troubles[event.arm] = trouble = replace(event, run=run, point=point)
        self._on_event(trouble)

    def _trouble(self, arm: str, point: int, status: e.Status, reason: str, detail: str = "") -> None:
        trouble = e.ArmStatus(
            run=self._request.id, arm=arm, status=status, reason=reason, detail=detail, point=point
        )
        self._troubles[arm] = trouble
        self._on_event(trouble)

    def _say_if_unlike(self, node: str, machine: Machine) -> None:
        assert self._first is not None
        first = next(iter(self._nodes))
        differ = [(getattr(self._first, name), getattr(machine, name)) for name in UNLIKE]
        cards = [", ".join(gpu.description for gpu in m.gpus) for m in (self._first, machine)]
        differ.append((cards[0], cards[1]))
        words = [f"{there or 'none'} against {here or 'none'}" for here, there in differ if here != there]
        if words:
            message = f"{node} differs from {first} ({'; '.join(words)}), which affects the crossover"
            self._on_event(e.Caveat(run=self._request.id, code="unlike-machines", message=message))
