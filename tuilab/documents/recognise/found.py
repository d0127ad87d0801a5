"""The result of recognition: workloads with the document's parameters, and gaps with reasons."""

from dataclasses import dataclass, field

from tuilab.documents.interpreter.trace import Region, Trace, TraceEvent
from tuilab.documents.interpreter.values import Tensor, Unknown, Value
from tuilab.model.arms import Input, Mode
from tuilab.model.parameters import Value as Setting
from tuilab.model.scenario import Axis


@dataclass
class Found:
    """A workload found in an example.

    lines: lines of the example with the workload's ops. devices, modes, inputs, dtypes, variants: the values
    that the code uses; empty if the code does not determine them. anywhere: True if some ops run outside of
    any device scope. eager: True if some ops run outside of any graph. left_out: differences between the
    workload and the document, in sentences. sweep: the sizes over which a loop iterates. part: the measured
    share of the ops that the document times together, such as `1 of the 8 ops`; "" if all.
    """

    workload: str
    parameters: dict[str, Setting]
    line: int
    lines: set[int] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    modes: set[Mode] = field(default_factory=set)
    inputs: set[Input] = field(default_factory=set)
    dtypes: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    anywhere: bool = False
    eager: bool = False
    left_out: list[str] = field(default_factory=list)
    sweep: Axis | None = None
    part: str = ""


@dataclass(frozen=True)
class Gap:
    line: int
    reason: str


Result = Found | Gap


def placed(found: Found, event: TraceEvent) -> Found:
    """Add the device and mode of an event to the workload, and return the workload."""
    found.lines.add(event.line)
    families = [f for f in event.place.families if f in ("CPU", "GPU")]
    if families:
        found.devices |= set(families)
    else:
        found.anywhere = True
    if event.place.graph is not None:
        found.modes.add("xla" if event.place.graph.jit else "graph")
    else:
        found.eager = True
    return found


def loops_outside(trace: Trace, region: Region) -> int:
    """Return the number of loops that repeat the timed region, plus one if a timer repeats the timed
    statement.
    """
    timer = region.via == "timeit" or (region.via == "magic" and region.repeats)
    return len(trace.events[region.first].place.loops) + timer


def repeats_in_unit(trace: Trace, event: TraceEvent, *, timers: bool = False) -> int | None:
    """Return the number of times that an event runs in one timed unit of work; None if unknown. An event that
    is not timed counts over the whole program.

    timers: only timers such as `timeit` delimit a unit, not pairs of clock readings.
    """
    around = [r for r in trace.regions if r.first < event.index < r.last]
    outside = [loops_outside(trace, r) for r in around if not timers or r.via != "clock"]
    return event.place.repeats_inside(max(outside, default=0))


def reason(value: Value | None) -> str:
    if isinstance(value, Unknown):
        return value.reason
    if isinstance(value, Tensor) and value.shape is None:
        return "the shape of its input is unknown"
    return "its value is unknown"


def merged(results: list[Found]) -> list[Found]:
    """Merge workloads that differ only in their dtypes, which become arms of one workload."""
    out: list[Found] = []
    for found in results:
        for known in out:
            if known.workload != found.workload:
                continue
            same = {k: v for k, v in known.parameters.items() if k != "dtype"}
            other = {k: v for k, v in found.parameters.items() if k != "dtype"}
            if same == other:
                _join(known, found)
                break
        else:
            if "dtype" in found.parameters:
                found.dtypes = [str(found.parameters["dtype"])]
            out.append(found)
    return out


def _join(known: Found, found: Found) -> None:
    known.lines |= found.lines
    known.devices |= found.devices
    known.modes |= found.modes
    known.inputs |= found.inputs
    known.anywhere = known.anywhere or found.anywhere
    if known.workload == "elementwise" and known.eager != found.eager:
        # The document runs both eager ops and graphs, and the workload measures both.
        known.left_out.clear()
    else:
        known.left_out += [text for text in found.left_out if text not in known.left_out]
    known.eager = known.eager or found.eager
    known.variants += [v for v in found.variants if v not in known.variants]
    dtype = found.parameters.get("dtype")
    if dtype is not None and dtype not in known.dtypes:
        known.dtypes.append(str(dtype))


def swept(results: list[Found]) -> list[Found]:
    """Merge workloads that the same lines create at several sizes into one workload with a sweep."""
    out: list[Found] = []
    groups: dict[tuple[object, ...], list[Found]] = {}
    for found in results:
        groups.setdefault((found.workload, found.line, frozenset(found.lines)), []).append(found)
    for group in groups.values():
        axis = _axis(group)
        if axis is None:
            out += group
            continue
        largest = max(group, key=lambda found: int(str(found.parameters[axis.parameter])))
        for found in group:
            _join(largest, found)
        largest.sweep = axis
        out.append(largest)
    return out


def _axis(group: list[Found]) -> Axis | None:
    """Return the size parameters that differ between the workloads, as the axis of a sweep. None if two of
    them have different values in one workload.
    """
    first = group[0].parameters
    if len(group) == 1 or any(found.parameters.keys() != first.keys() for found in group):
        return None
    apart = [name for name in first if len({str(found.parameters[name]) for found in group}) > 1]
    sizes = [{found.parameters[name] for name in apart} for found in group]
    whole = all(len(size) == 1 and all(type(value) is int for value in size) for size in sizes)
    if not apart or not whole:
        return None
    values = sorted({int(str(value)) for size in sizes for value in size})
    return Axis(apart[0], tuple(values), tuple(apart[1:]))
