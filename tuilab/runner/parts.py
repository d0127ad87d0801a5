"""The processes of a run: how many there are, which arms each measures, and what they have found so far."""

import msgspec

from tuilab.analysis.processes import estimate_of
from tuilab.model.arms import Arm
from tuilab.model.events import Event, Round, RunStarted, WarmedUp
from tuilab.model.machine import Machine
from tuilab.model.requests import Ask, Declare, Measure
from tuilab.model.run import RunState


class Earlier:
    """What the processes of a run have found so far, for the processes after them."""

    def __init__(self) -> None:
        self._run = ""
        self._code: dict[str, str] = {}
        self._settled: set[str] = set()
        self._samples = RunState()

    @property
    def settled(self) -> tuple[str, ...]:
        """The arms that were steady from their first call."""
        return tuple(sorted(self._settled))

    def begin(self, event: RunStarted) -> str:
        """Note the start of a process. Return why it must not measure, if its code differs from the code of
        the run's first process; else "".
        """
        if event.run != self._run:
            self._run, self._code, self._settled = event.run, event.code, set()
        before = self._code
        names = [name for name in before if name in event.code and event.code[name] != before[name]]
        if not names:
            return ""
        return f"{', '.join(names[:3])} changed during the measurement; the earlier rounds are saved"

    def note(self, event: Event) -> None:
        if isinstance(event, RunStarted | Round):
            self._samples.apply(event)
        elif isinstance(event, WarmedUp) and event.at_once:
            self._settled.add(event.arm)

    def suffice(self, request: Measure) -> bool:
        """Return True if enough processes have measured every arm with the budget's precision."""
        arms = self._samples.arms.values()
        every = [cell for arm in arms for cell in arm.cells.values() if cell.samples]
        halves = [found.relative_half_width for cell in every if (found := estimate_of(cell)) is not None]
        return request.worker + 1 >= processes(request) and all(
            half is not None and half <= request.budget.precision for half in halves
        )


def processes(request: Measure) -> int:
    """Return the number of fresh processes for a run.

    Returns 1 for a sweep, unless the budget treats all processes alike.
    """
    budget = request.budget
    if request.turns:
        return request.worker + 1  # `Turns` starts each additional process itself
    return 1 if request.sweep is not None and budget.further_s else budget.workers


def parts(request: Measure, machine: Machine | None) -> tuple[tuple[Arm, ...], ...]:
    """Split a run's arms into groups that can share a process: separates a GPU's float32 and tf32 arms.

    TensorFlow caches cuDNN and cuBLASLt plans by shape and dtype, but not by TF32 (see
    `ConvParametersProto`), so one arm could use the other's plan. In a sweep, or if devices measure together,
    all arms still share one process, and the process reports a caveat.
    """
    gpus = {gpu.name for gpu in machine.gpus} if machine is not None else set()
    own = tuple(arm for arm in request.arms if arm.dtype == "tf32" and arm.device in gpus)
    rest = tuple(arm for arm in request.arms if arm not in own)
    apart = own and any(arm.dtype == "float32" and arm.device in gpus for arm in rest)
    if not apart or request.sweep is not None or any(arm.together for arm in request.arms):
        return (request.arms,)
    return rest, own


def narrowed(request: Measure | Declare | Ask, machine: Machine | None) -> Measure | Declare | Ask:
    """Return the request for one process, with only its part of the run's arms."""
    if not isinstance(request, Measure) or len(every := parts(request, machine)) == 1:
        return request
    # The worker's file would contain only part of the run if the lab disappeared, so write no file.
    return msgspec.structs.replace(request, arms=every[request.part], spool="")


def following(request: Measure, machine: Machine | None, most: int = 0) -> Measure | None:
    """Return the request for the run's next process; None after the last process.

    If the budget limits the time of additional processes, these measure no phases, latency or placement.
    most: maximum number of processes; 0 for the budget's number without forking.
    """
    if request.part + 1 < len(parts(request, machine)):
        return msgspec.structs.replace(request, part=request.part + 1)
    if request.worker + 1 >= (most or processes(request)):
        return None
    short = bool(request.budget.further_s)
    return msgspec.structs.replace(
        request,
        worker=request.worker + 1,
        part=0,
        phases=request.phases and not short,
        latency=request.latency and not short,
        placement=request.placement and not short,
    )
