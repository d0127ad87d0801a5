"""What holds an arm back, in sentences with numbers, each with what to do about it."""

from collections.abc import Callable, Iterator

from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import (
    account_at,
    arm_status,
    axes,
    compare,
    endless,
    estimate_at,
    family_of,
    launches,
    measured,
    name_of,
    nodes_at,
    op_counts,
    retraced,
    summary_point,
)
from tuilab.analysis.sweeps import crossovers
from tuilab.analysis.words import listed, on_axis, percent, size, times
from tuilab.model.account import COPIES, Account
from tuilab.model.arms import family
from tuilab.model.events import ops_of
from tuilab.model.quantity import half_of, plural, seconds
from tuilab.model.result import Diagnosis, Severity
from tuilab.model.run import ArmState, RunState

ORDER: tuple[Severity, ...] = ("high", "moderate", "info")

# From the overview page of the XProf profiler, as shares of a step: (moderate, high).
INPUT = (0.05, 0.20)
LAUNCH = (0.03, 0.15)
# Ours. Eager execution always dispatches: only where that is a good part of the time is it news.
DISPATCH = (0.20, 0.50)
COPYING = (0.20, 0.50)
UNEXPLAINED, ALL = 0.20, 0.999
LONGEST_LAUNCH_S = 1e-3
"""An op that takes longer to start waited for something else: another process, or memory."""
FIRST_CALLS = 1_000
NOTEWORTHY = 1.2
WORTH = 1.1
"""What advice must bring at least, by the run's own arms, or it is not given."""


def diagnose(state: RunState) -> list[Diagnosis]:
    """Return everything found at the point that the run's figures are given for, the gravest first."""
    point = summary_point(state)
    arms = measured(state, point)
    found: list[Diagnosis] = []
    for arm in arms:
        account = account_at(arm, point)
        if account is not None:
            for rule in PHASE_RULES:
                found += rule(state, arms, arm, account, point)
        found += _host_ops(arm, point)
        found += _first_call(arm, point)
    found += [*_dtypes(arms, point), *_too_small(state)]
    return sorted(found, key=lambda d: (ORDER.index(d.severity), -d.share))


def _grade(share: float, limits: tuple[float, float]) -> Severity | None:
    if share < limits[0]:
        return None
    return "high" if share >= limits[1] else "moderate"


def _refuted(found: RatioEstimate | None) -> bool:
    """Whether the run's own arms show that a change brings nothing worth having. found: before over after."""
    return found is not None and found.interval is not None and found.interval[1] < WORTH


def _dispatch(
    state: RunState, arms: list[ArmState], arm: ArmState, parts: Account, point: int
) -> Iterator[Diagnosis]:
    """Eager: the time between ops outweighs the ops."""
    share = parts.share("dispatch", "python")
    severity = _grade(share, DISPATCH)
    if arm.arm.mode != "eager" or severity is None:
        return
    ops = sum(op_counts(arm, point).values())
    text = f"{name_of(arm, point)} spends {percent(share)} of each call in Python and dispatching "
    text += f"its {launches(arm, point) or 'ops'}"
    remedy = "Put the whole step into one tf.function."
    graph = next((a for a in arms if a.arm.mode != "eager" and _beside(a, arm, "mode")), None)
    if graph is None and _no_graph(state, arm, point):
        remedy = "Give each call more work: a larger batch."
    found = compare(arm, graph, point) if graph is not None else None
    if _refuted(found):
        return
    if ops == 1 and not retraced(arm, point):
        remedy = "Give each call more work: a larger batch."
    elif graph is not None:
        left = sum(op_counts(graph, point).values())
        if graph.arm.mode == "xla":
            text += "; XLA launches one program" if left else ""
        elif 0 < left < ops:
            text += f"; one graph launches {launches(graph, point).removesuffix(' ops')}"
        if found is not None and found.is_slower and not retraced(arm, point):
            text += f", and {graph.label} is {found.words} faster"
    if again := retraced(arm, point):
        text, _, remedy = f"{text}; {again}".partition("; pass tensors")
        remedy = f"Pass tensors{remedy}."
    yield Diagnosis("dispatch-bound", severity, f"{text}.", remedy, arm.arm.id, share)


def _no_graph(state: RunState, arm: ArmState, point: int) -> bool:
    """Whether the run tried the arm as a graph, and it could not be one."""
    tried = [
        other for other in state.arms.values() if other.arm.mode == "graph" and _beside(other, arm, "mode")
    ]
    return bool(tried) and all(arm_status(state, a, point)[0] in ("failed", "unavailable") for a in tried)


def _launch(
    state: RunState, arms: list[ArmState], arm: ArmState, parts: Account, point: int
) -> Iterator[Diagnosis]:
    """A graph whose start-up on the host weighs against its work."""
    share = parts.share("dispatch")
    severity = _grade(share, LAUNCH)
    if arm.arm.mode == "eager" or severity is None:
        return
    ops = sum(op_counts(arm, point).values())
    started = 1 if arm.arm.mode == "xla" else ops
    if ops and not endless(arm, point) and parts.seconds("dispatch") > started * LONGEST_LAUNCH_S:
        return
    of = f" its {launched.removeprefix('one ')}" if (launched := launches(arm, point)) else ""
    yield Diagnosis(
        "launch-bound",
        severity,
        f"{name_of(arm, point)} spends {percent(share)} of each call launching{of}.",
        "Give each call more work: a larger batch, or several steps in one function.",
        arm.arm.id,
        share,
    )


def _input(
    state: RunState, arms: list[ArmState], arm: ArmState, parts: Account, point: int
) -> Iterator[Diagnosis]:
    share = parts.share("input_wait")
    severity = _grade(share, INPUT)
    if severity is None:
        return
    how = "highly" if severity == "high" else "moderately"
    yield Diagnosis(
        "input-bound",
        severity,
        f"{name_of(arm, point)} waits for input during {percent(share)} of each call: {how} input-bound.",
        _feeding(arms, arm, point),
        arm.arm.id,
        share,
    )


FEEDING = {
    "parallel": "map in parallel",
    "prefetched": "prefetch",
    "cached": "cache what stays the same",
    "in-step": "move the work into the step",
}
"""What relieves a step of its input, by the variant that does so."""


def _feeding(arms: list[ArmState], arm: ArmState, point: int) -> str:
    """What to do about the input: neither what the arm does already nor what the run's own arms refute."""
    ahead = arm.arm.variant in ("prefetched", "from-memory", "cached", "in-step")
    own = {arm.arm.variant, *(("parallel", "prefetched") if ahead else ())}
    beside = {other.arm.variant: other for other in arms if _beside(other, arm, "variant")}
    left = [
        words
        for variant, words in FEEDING.items()
        if variant not in own and not (variant in beside and _refuted(compare(arm, beside[variant], point)))
    ]
    if not left:
        return "What this run tried besides is no faster: prepare the data once, or on more processors."
    said = listed(left, "or")
    return f"{said[:1].upper()}{said[1:]}."


def _copies(
    state: RunState, arms: list[ArmState], arm: ArmState, parts: Account, point: int
) -> Iterator[Diagnosis]:
    share, compute = parts.share(*COPIES), parts.share("compute")
    severity = _grade(share, COPYING)
    if severity is None:
        return
    way = "in" if parts.share("copy_in") >= parts.share("copy_out") else "out"
    cost = parts.share(f"copy_{way}")
    text = f"{name_of(arm, point)} spends {percent(share)} of each call copying"
    if compute > 0:
        text += f"; the copy {way} takes {times(cost / compute)} as long as the compute"
    resident = next((a for a in arms if a.arm.input == "resident" and _beside(a, arm, "input")), None)
    found = compare(arm, resident, point) if resident is not None else None
    if _refuted(found):
        return
    if resident is not None and found is not None and found.is_slower:
        text += f"; with its input on the device it is {found.words} faster"
    what = "input" if way == "in" else "result"
    remedy = f"Keep the {what} on the device, or do more work there for each copy."
    yield Diagnosis("copy-bound", severity, f"{text}.", remedy, arm.arm.id, share)


def _unexplained(
    state: RunState, arms: list[ArmState], arm: ArmState, parts: Account, point: int
) -> Iterator[Diagnosis]:
    if parts.not_known < UNEXPLAINED:
        return
    text = f"Of a call of {name_of(arm, point)}, {percent(parts.not_known)} is not known"
    why = f": {parts.note}" if parts.note else ""
    remedy = "The other shares are the least that they can be; the timeline shows what runs when."
    if parts.not_known > ALL:
        remedy = (
            "Measure it again: on a quiet machine the calls that are looked into take as long as the others."
        )
    yield Diagnosis("not-known", "info", f"{text}{why}.", remedy, arm.arm.id, parts.not_known)


PHASE_RULES: tuple[Callable[[RunState, list[ArmState], ArmState, Account, int], Iterator[Diagnosis]], ...] = (
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
    nodes = ops_of(nodes_at(arm, point))
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
    slow = compare(other, usual, point)
    if slow is None or not slow.differs or max(slow.ratio, slow.turned.ratio) < NOTEWORTHY:
        return
    name, like = other.arm.dtype, usual.arm.dtype
    where = f"on the {family_of(other, point)}, {other.arm.mode}"
    if slow.ratio > 1:
        text = f"{name} takes {slow.words} the time of {like} ({where})."
        remedy = f"Use {like} where its precision and range suffice."
        yield Diagnosis("dtype", "moderate" if slow.ratio >= 2 else "info", text, remedy, other.arm.id)
    else:
        text = f"{name} is {slow.turned.words} faster than {like} ({where})."
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
        least = on_axis(names[0], size(found.ci95[1], half_of(found.ci95)))
        text = f"At {on_axis(names[0], size(here))} {loser} is faster: {winner} pays off from {least} on."
        remedy = f"Batch small inputs until a call reaches that size, or stay with {loser}."
        yield Diagnosis("too-small", "info", text, remedy, found.a)


def _beside(a: ArmState, b: ArmState, but: str) -> bool:
    """Whether two arms are alike in everything but one property, and unlike in that."""
    names = ("device", "mode", "input", "dtype", "variant", "host")
    return all((getattr(a.arm, name) == getattr(b.arm, name)) != (name == but) for name in names)
