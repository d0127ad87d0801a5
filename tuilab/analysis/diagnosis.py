"""What holds an arm back, in sentences with numbers, each with what to do about it."""

from collections.abc import Callable, Iterator

from tuilab.analysis.answer import slower
from tuilab.analysis.phases import Shares, shares
from tuilab.analysis.reading import (
    axes,
    compare,
    estimate_at,
    family_of,
    measured,
    name_of,
    nodes_at,
    op_counts,
    phases_at,
    summary_point,
)
from tuilab.analysis.sweeps import crossovers
from tuilab.analysis.words import listed, on_axis, percent, plural, size, times
from tuilab.model.arms import family
from tuilab.model.quantity import seconds
from tuilab.model.result import Diagnosis, Severity
from tuilab.model.run import ArmState, RunState

ORDER: tuple[Severity, ...] = ("high", "moderate", "info")

# From the overview page of the XProf profiler, as shares of a step: (moderate, high).
INPUT = (0.05, 0.20)
LAUNCH = (0.03, 0.15)
# Ours. Eager execution always dispatches: only where that is a good part of the time is it news.
DISPATCH = (0.20, 0.50)
COPIES = (0.20, 0.50)
UNEXPLAINED = 0.20
FIRST_CALLS = 1_000
NOTEWORTHY = 1.2


def diagnose(state: RunState) -> list[Diagnosis]:
    """Everything found at the point that the run's figures are given for, the gravest first."""
    point = summary_point(state)
    arms = measured(state, point)
    found: list[Diagnosis] = []
    for arm in arms:
        phases = phases_at(arm, point)
        parts = shares(phases.phases_s, phases.total_s) if phases is not None else None
        if parts is not None:
            for rule in PHASE_RULES:
                found += rule(arms, arm, parts, point)
        found += _host_ops(arm, point)
        found += _first_call(arm, point)
    found += [*_dtypes(arms, point), *_too_small(state)]
    return sorted(found, key=lambda d: (ORDER.index(d.severity), -d.share))


def _grade(share: float, limits: tuple[float, float]) -> Severity | None:
    if share < limits[0]:
        return None
    return "high" if share >= limits[1] else "moderate"


def _dispatch(arms: list[ArmState], arm: ArmState, parts: Shares, point: int) -> Iterator[Diagnosis]:
    """Eager: the time between ops outweighs the ops."""
    # Between the kernels of an eager call there is Python and the runtime dispatching, the remainder too.
    share = parts.of("dispatch") + max(0.0, parts.residual)
    severity = _grade(share, DISPATCH)
    if arm.arm.mode != "eager" or severity is None:
        return
    ops = sum(op_counts(arm, point).values())
    text = f"{name_of(arm, point)} spends {percent(share)} of each call in Python and dispatching "
    text += f"its {plural(ops, 'op')}" if ops else "its ops"
    graph = next((a for a in arms if a.arm.mode != "eager" and _beside(a, arm, "mode")), None)
    found = compare(arm, graph, point) if graph is not None else None
    if graph is not None:
        left = sum(op_counts(graph, point).values())
        text += f"; one graph launches {left:,}" if 0 < left < ops else ""
        if found is not None and found.is_slower:
            text += f", and {graph.label} is {slower(found)} faster"
    remedy = "Put the whole step into one tf.function."
    if again := next((caveat.message for caveat in arm.flags if caveat.code == "retraced"), ""):
        text, _, remedy = f"{text}; {again}".partition("; pass tensors")
        remedy = f"Pass tensors{remedy}."
    yield Diagnosis("dispatch-bound", severity, f"{text}.", remedy, arm.arm.id, share)


def _launch(arms: list[ArmState], arm: ArmState, parts: Shares, point: int) -> Iterator[Diagnosis]:
    """A graph whose start-up on the host weighs against its work."""
    share = parts.of("dispatch")
    severity = _grade(share, LAUNCH)
    if arm.arm.mode == "eager" or severity is None:
        return
    ops = sum(op_counts(arm, point).values())
    of = f" its {plural(ops, 'op')}" if ops else ""
    yield Diagnosis(
        "launch-bound",
        severity,
        f"{name_of(arm, point)} spends {percent(share)} of each call launching{of}.",
        "Give each call more work: a larger batch, or several steps in one function.",
        arm.arm.id,
        share,
    )


def _input(arms: list[ArmState], arm: ArmState, parts: Shares, point: int) -> Iterator[Diagnosis]:
    share = parts.of("input_wait")
    severity = _grade(share, INPUT)
    if severity is None:
        return
    how = "highly" if severity == "high" else "moderately"
    yield Diagnosis(
        "input-bound",
        severity,
        f"{name_of(arm, point)} waits for input during {percent(share)} of each call: {how} input-bound.",
        "Map in parallel, prefetch, cache what stays the same, or move the work into the step.",
        arm.arm.id,
        share,
    )


def _copies(arms: list[ArmState], arm: ArmState, parts: Shares, point: int) -> Iterator[Diagnosis]:
    share, compute = parts.of("copy_in", "copy_out"), parts.of("compute")
    severity = _grade(share, COPIES)
    if severity is None:
        return
    way = "in" if parts.of("copy_in") >= parts.of("copy_out") else "out"
    cost = parts.of(f"copy_{way}")
    text = f"{name_of(arm, point)} spends {percent(share)} of each call copying"
    if compute > 0:
        text += f"; the copy {way} takes {times(cost / compute)} as long as the compute"
    resident = next((a for a in arms if a.arm.input == "resident" and _beside(a, arm, "input")), None)
    found = compare(arm, resident, point) if resident is not None else None
    if resident is not None and found is not None and found.is_slower:
        text += f"; with its input on the device it is {slower(found)} faster"
    what = "input" if way == "in" else "result"
    remedy = f"Keep the {what} on the device, or do more work there for each copy."
    yield Diagnosis("copy-bound", severity, f"{text}.", remedy, arm.arm.id, share)


def _unexplained(arms: list[ArmState], arm: ArmState, parts: Shares, point: int) -> Iterator[Diagnosis]:
    if abs(parts.residual) < UNEXPLAINED or (arm.arm.mode == "eager" and parts.residual > 0):
        return
    overlap = parts.residual < 0
    text = f"The phases of {name_of(arm, point)} add up to {percent(1 - parts.residual)} of a whole call"
    why = "some of them overlap" if overlap else "the rest is spent between them"
    remedy = "Its shares are rough; the profile shows what runs when."
    yield Diagnosis("phases-differ", "info", f"{text}: {why}.", remedy, arm.arm.id, abs(parts.residual))


PHASE_RULES: tuple[Callable[[list[ArmState], ArmState, Shares, int], Iterator[Diagnosis]], ...] = (
    _dispatch,
    _launch,
    _input,
    _copies,
    _unexplained,
)


def _host_ops(arm: ArmState, point: int) -> Iterator[Diagnosis]:
    """Ops of a GPU arm that ran on the host."""
    if family(arm.arm.device) != "GPU":
        return
    nodes = [n for n in nodes_at(arm, point) if n.kind == "op"]
    devices = {n.device for n in nodes}
    cpus = {device for device in devices if family(device.rpartition("device:")[2]) == "CPU"}
    host = [n for n in nodes if n.device in cpus]
    if not host:
        return
    kinds = listed(list(dict.fromkeys(n.op for n in host))[:4])
    total, moved = sum(n.count for n in nodes), sum(n.count for n in host)
    why = next((n.reason.rstrip(".") for n in host if n.reason), "")
    text = f"{moved:,} of {plural(total, 'op')} of {arm.label} ran on the CPU ({kinds})"
    remedy = "Use ops and dtypes that have GPU kernels, or move these out of the device's chain."
    severity: Severity = "moderate" if moved < total else "high"
    yield Diagnosis("host-ops", severity, f"{text}{': ' + why if why else ''}.", remedy, arm.arm.id)


def _first_call(arm: ArmState, point: int) -> Iterator[Diagnosis]:
    """Tracing and compiling that only many calls repay."""
    found, first = estimate_at(arm, point), arm.cells[point].first_s
    if found is None or first is None or first < FIRST_CALLS * found.median:
        return
    text = f"The first call of {name_of(arm, point)} took {seconds(first)}, as long as "
    text += f"{size(first / found.median, first / found.median / 10)} later calls."
    remedy = "Call it once beforehand, and keep shapes and dtypes fixed: each new one is traced again."
    yield Diagnosis("first-call", "info", text, remedy, arm.arm.id)


def _dtypes(arms: list[ArmState], point: int) -> Iterator[Diagnosis]:
    """Arms that differ in dtype only, each against the float32 one, or else against the fastest."""
    done: set[str] = set()
    for arm in arms:
        group = [arm, *(other for other in arms if _beside(other, arm, "dtype"))]
        if arm.arm.id in done or len(group) < 2:
            continue
        done |= {other.arm.id for other in group}
        usual = next((other for other in group if other.arm.dtype == "float32"), group[0])
        for other in group:
            if other is not usual:
                yield from _dtype(other, usual, point)


def _dtype(other: ArmState, usual: ArmState, point: int) -> Iterator[Diagnosis]:
    slow, fast = compare(other, usual, point), compare(usual, other, point)
    if slow is None or fast is None or not slow.differs or max(slow.ratio, fast.ratio) < NOTEWORTHY:
        return
    name, like = other.arm.dtype, usual.arm.dtype
    where = f"on the {family_of(other, point)}, {other.arm.mode}"
    if slow.ratio > 1:
        text = f"{name} takes {slower(slow)} the time of {like} ({where})."
        remedy = f"Use {like} where its precision and range suffice."
        yield Diagnosis("dtype", "moderate" if slow.ratio >= 2 else "info", text, remedy, other.arm.id)
    else:
        text = f"{name} is {slower(fast)} faster than {like} ({where})."
        remedy = f"Use {name} where its precision and range suffice."
        yield Diagnosis("dtype", "info", text, remedy, other.arm.id)


def _too_small(state: RunState) -> Iterator[Diagnosis]:
    """The scenario's own size lies below the crossover, where the arm that scales better does not pay yet."""
    names = axes(state)
    if len(names) != 1 or state.scenario is None:
        return
    here = state.scenario.parameters.get(names[0])
    for found in crossovers(state)[:1]:
        if found.status != "found" or found.ci95 is None or type(here) is not int or here >= found.ci95[0]:
            continue
        winner, loser = state.arms[found.a].label, state.arms[found.b].label
        least = on_axis(names[0], size(found.ci95[1], (found.ci95[1] - found.ci95[0]) / 2))
        text = f"At {on_axis(names[0], size(here))} {loser} is faster: {winner} pays off from {least} on."
        remedy = f"Batch small inputs until a call reaches that size, or stay with {loser}."
        yield Diagnosis("too-small", "info", text, remedy, found.a)


def _beside(a: ArmState, b: ArmState, but: str) -> bool:
    """Whether two arms are alike in everything but one property, and unlike in that."""
    names = ("device", "mode", "input", "dtype", "variant", "host")
    return all((getattr(a.arm, name) == getattr(b.arm, name)) != (name == but) for name in names)
