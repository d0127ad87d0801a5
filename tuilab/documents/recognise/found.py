"""The result of recognising: workloads with the document's parameters, and gaps with reasons."""

from dataclasses import dataclass, field

from tuilab.documents.interpreter.trace import TraceEvent
from tuilab.documents.interpreter.values import Graph, Tensor, Unknown, Value
from tuilab.model.arms import Input, Mode
from tuilab.model.parameters import Value as Setting


@dataclass
class Found:
    """A workload found in an example.

    lines: of its code. devices, modes, inputs, dtypes, variants: from the code; empty if open. anywhere: some
    of it runs outside of any scope. eager: some of it runs outside of any graph. left_out: differences
    between workload and document, in sentences.
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


@dataclass(frozen=True)
class Gap:
    """Something without a preset, with its line and reason."""

    line: int
    reason: str


Result = Found | Gap


def placed(found: Found, event: TraceEvent) -> Found:
    """Add an event's device and mode to the known arms."""
    found.lines.add(event.line)
    families = [f for f in event.place.families if f in ("CPU", "GPU")]
    if families:
        found.devices |= set(families)
    else:
        found.anywhere = True
    graph = event.place.traced.graph if event.place.traced is not None else None
    if isinstance(graph, Graph):
        found.modes.add("xla" if graph.jit else "graph")
    else:
        found.eager = True
    return found


def reason(value: Value | None) -> str:
    """Describe why a value is unknown."""
    if isinstance(value, Unknown):
        return value.reason
    if isinstance(value, Tensor) and value.shape is None:
        return "the shape of its input is not known"
    return "its value is not known"


def merged(results: list[Found]) -> list[Found]:
    """Merge workloads with the same parameters; different dtypes become arms of one workload."""
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
    known.eager = known.eager or found.eager
    known.left_out += [text for text in found.left_out if text not in known.left_out]
    known.variants += [v for v in found.variants if v not in known.variants]
    dtype = found.parameters.get("dtype")
    if dtype is not None and dtype not in known.dtypes:
        known.dtypes.append(str(dtype))
