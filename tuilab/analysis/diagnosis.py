"""Diagnoses what slows an arm down, in sentences with numbers and advice."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tuilab.analysis.profiled import INPUT_HIGH, LAUNCH_HIGH, MATTERS, input_bound
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import (
    account_at,
    arm_status,
    axes,
    compare,
    contended,
    endless,
    estimate_at,
    family_of,
    launches,
    measured,
    name_of,
    nodes_at,
    op_total,
    retraced,
    summary_point,
)
from tuilab.analysis.roofline import reach
from tuilab.analysis.sweeps import crossovers
from tuilab.analysis.words import capitalized, first_few, listed, on_axis, percent, size, times
from tuilab.model.account import COPIES, NOT_KNOWN, PY_FUNCTION, STALL, Account
from tuilab.model.arms import family
from tuilab.model.events import Node, ops_of
from tuilab.model.found import SEVERITIES, Severity
from tuilab.model.ops import ITERATORS, PYTHON
from tuilab.model.quantity import half_of, plural, seconds
from tuilab.model.result import Diagnosis
from tuilab.model.run import ArmState, RunState

# (warning, error), each as a share of a call.
INPUT, LAUNCH = (MATTERS, INPUT_HIGH), (MATTERS, LAUNCH_HIGH)
STALLED = LAUNCH
# Eager execution always dispatches, so only a large share is worth a report.
DISPATCH = (0.20, 0.50)
COPYING = (0.20, 0.50)
UNEXPLAINED, ALL = 0.20, 0.999
LONGEST_LAUNCH_S = 1e-3
"""Maximum seconds to launch an op. An op that takes longer was waiting for another process or for memory."""
FIRST_CALLS = 1_000
NOTEWORTHY = 1.2
WORTH = 1.1
"""Minimum speedup, measured by the run's own arms, for which a change is advised."""
NEAR_ROOF = 0.6
"""A device is close to its limit if an arm reaches at least this share of the roof. For such an arm, more
work per call is not advised.
"""


@dataclass(frozen=True)
class Call:
    """A call of a measured arm with known phases. arms: all arms measured at this point, fastest first."""

    state: RunState
    arms: Sequence[ArmState]
    arm: ArmState
    parts: Account
    point: int

    @property
    def name(self) -> str:
        return name_of(self.arm, self.point)

    def spends(self, *phases: str) -> str:
        """Return the beginning of a sentence, `CPU graph spends 71% of each call`."""
        return f"{self.name} spends {percent(self.parts.share(*phases))} of each call"

    @property
    def eager(self) -> bool:
        return self.arm.arm.mode == "eager"

    def grade(self, limits: tuple[float, float], *phases: str) -> Severity | None:
        """Return how severely these phases limit the call; None if their share is small or uncertain."""
        found = estimate_at(self.arm, self.point)
        if found is None or self.parts.seconds(*phases) <= (found.half_width or 0.0):
            return None
        share, least = self.parts.share(*phases), self.parts.least_share(*phases)
        if not least or (least if INFLATED.issuperset(phases) else share) < limits[0]:
            return None
        return "error" if round(share, 2) >= limits[1] else "warning"

    def beside(self, but: str) -> list[ArmState]:
        """Return the measured arms that differ from this one only in the field `but`."""
        return [other for other in self.arms if _differ_only_in(other, self.arm, but)]

    def over(self, other: ArmState | None) -> RatioEstimate | None:
        """Return the time of the call over the time of the other arm's call."""
        return compare(self.arm, other, self.point) if other is not None else None

    def found(self, code: str, text: str, remedy: str, severity: Severity, *phases: str) -> Diagnosis:
        return Diagnosis(code, text, remedy, severity, self.arm.arm.id, self.parts.share(*phases))


def diagnose(state: RunState) -> list[Diagnosis]:
    """Return the run's findings at its headline point, most severe first."""
    point = summary_point(state)
    arms = measured(state, point)
    accounts = [(arm, account) for arm in arms if (account := account_at(arm, point)) is not None]
    calls = [Call(state, arms, arm, account, point) for arm, account in accounts]
    found = [each for call in calls for rule in PHASE_RULES for each in rule(call)]
    for arm in arms:
        found += [*_host_ops(arm, point), *_first_call(arm, point)]
    found += [*_dtypes(arms, point), *_too_small(state)]
    found += _withheld(state, calls, found)
    return sorted(found, key=lambda d: (-SEVERITIES.index(d.severity), -d.share))


def _withheld(state: RunState, calls: Sequence[Call], given: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    """Report once that launch advice is withheld because other processes used the host."""
    advised = {each.arm for each in given}
    left = [call for call in calls if call.arm.arm.id not in advised]
    slow = [call for call in left if call.grade(DISPATCH if call.eager else LAUNCH, "dispatch")]
    if contended(state) and slow:
        most = max(slow, key=lambda call: call.parts.share("dispatch"))
        share = percent(most.parts.share("dispatch"))
        text = f"{most.arm.label} spends {share} of each call starting its ops, but other processes used "
        text += "this host, so that share may be too high."
        yield most.found("contended", text, "Measure again on a quiet host.", "note")


INFLATED = frozenset({"dispatch", "python"})
"""Phases that take longer while other programs use the host. They are reported only if the lower end of the
interval of their share reaches the limit.
"""


def _is_refuted(found: RatioEstimate | None) -> bool:
    """Return True if the run's own arms show that a change gains little. found: the ratio of the time before
    the change to the time after it.
    """
    return found is not None and found.interval is not None and found.interval[1] < WORTH


def _dispatch(call: Call) -> Iterator[Diagnosis]:
    """Report an eager arm that spends a large share of a call on dispatch and Python between its ops."""
    state, arm, point = call.state, call.arm, call.point
    severity = call.grade(DISPATCH, "dispatch", "python")
    if not call.eager or severity is None:
        return
    ops, again = op_total(arm, point), retraced(arm, point)
    text = f"{call.spends('dispatch', 'python')} in Python and dispatching its "
    text += launches(arm, point) or "ops"
    remedy = "Put the whole step into one tf.function."
    graph = next(iter(call.beside("mode")), None)
    if graph is None and _no_graph(state, arm, point):
        remedy = LARGER
    found = call.over(graph)
    if _is_refuted(found) or (contended(state) and not (found is not None and found.is_slower)):
        return
    if ops == 1 and not again:
        remedy = LARGER
    elif graph is not None:
        left = op_total(graph, point)
        if graph.arm.mode == "xla":
            text += "; XLA launches one program" if left else ""
            remedy = "Put the whole step into one tf.function with jit_compile=True."
        elif 0 < left < ops:
            text += f"; one graph launches {launches(graph, point).removesuffix(' ops')}"
        if found is not None and found.is_slower and not again:
            text += f", and {graph.label} is {found.words} faster"
    if remedy == LARGER and _near_roof(call):
        return
    if again:
        text, _, remedy = f"{text}; {again}".partition("; pass tensors")
        remedy = f"Pass tensors{remedy}."
    yield call.found("dispatch-bound", f"{text}.", remedy, severity, "dispatch", "python")


LARGER = "Give each call more work: a larger batch."


def _near_roof(call: Call) -> bool:
    found = reach(call.state, call.arm, call.point)
    return found is not None and found.share is not None and found.share >= NEAR_ROOF


def _no_graph(state: RunState, arm: ArmState, point: int) -> bool:
    """Return True if the same arm failed or was unavailable in graph mode."""
    tried = [
        other
        for other in state.arms.values()
        if other.arm.mode == "graph" and _differ_only_in(other, arm, "mode")
    ]
    return bool(tried) and all(arm_status(state, a, point)[0] in ("failed", "unavailable") for a in tried)


def _launch(call: Call) -> Iterator[Diagnosis]:
    """Report a graph arm that spends a large share of a call on launching ops from the host."""
    arm, point = call.arm, call.point
    severity = call.grade(LAUNCH, "dispatch")
    if call.eager or severity is None or _near_roof(call):
        return
    if contended(call.state) or _launches_faster(call):
        return
    ops = op_total(arm, point)
    started = 1 if arm.arm.mode == "xla" else ops
    if ops and not endless(arm, point) and call.parts.seconds("dispatch") > started * LONGEST_LAUNCH_S:
        return
    of = f" its {launched.removeprefix('one ')}" if (launched := launches(arm, point)) else ""
    text = f"{call.spends('dispatch')} launching{of}."
    remedy = "Give each call more work: a larger batch, or several steps in one function."
    yield call.found("launch-bound", text, remedy, severity, "dispatch")


def _launches_faster(call: Call) -> bool:
    """Return True if a similar arm launches at least as many ops in less than half of the time."""
    ops, dispatch_s = op_total(call.arm, call.point), call.parts.seconds("dispatch")
    return any(
        0 < ops <= op_total(other, call.point) and account.seconds("dispatch") < dispatch_s / 2
        for other in (*call.beside("variant"), *call.beside("input"))
        if (account := account_at(other, call.point)) is not None
    )


def _find_stalls(call: Call) -> Iterator[Diagnosis]:
    """Report a device that waits for host ops and copies during a call."""
    share, severity = call.parts.share(STALL), call.grade(STALLED, STALL)
    if severity is None:
        return
    free = next(
        (
            other
            for other in call.beside("variant")
            if (account := account_at(other, call.point)) is not None and account.share(STALL) < share / 2
        ),
        None,
    )
    found = call.over(free)
    if _is_refuted(found):
        return
    groups = host_groups(nodes_at(call.arm, call.point))
    ops = list(dict.fromkeys(node.op for group in groups if _remedy(group) for node in group))
    what = f"ops on the CPU ({listed(ops[:4])}) and their copies" if ops else "copies between its kernels"
    text = f"{call.spends(STALL)} waiting for {what}"
    if free is not None and found is not None and found.is_slower:
        text += f"; {free.label}, which waits less, is {found.words} faster"
    remedy = remedies(groups) or "Keep intermediate results on the device until the call ends."
    yield call.found("stalled", f"{text}.", remedy, severity, STALL)


def _input(call: Call) -> Iterator[Diagnosis]:
    share, severity = call.parts.share("input_wait"), call.grade(INPUT, "input_wait")
    if severity is not None:
        text = f"{call.spends('input_wait')} waiting for input: {input_bound(share)}."
        yield call.found("input-bound", text, _feeding(call), severity, "input_wait")


def _python_called(call: Call) -> Iterator[Diagnosis]:
    """Report Python code that an op calls in the fastest arm, or in the first that is hardly slower."""
    arms, point, severity = call.arms, call.point, call.grade(DISPATCH, PY_FUNCTION)
    # Eager mode runs the code of tf.numpy_function without an op.
    fastest = [a for a in arms if a is arms[0] or _is_refuted(compare(a, arms[0], point))]
    first = next((a for a in fastest if (known := account_at(a, point)) and known.share(PY_FUNCTION)), None)
    if call.arm is first and severity is not None:
        text = f"{call.spends(PY_FUNCTION)} in Python that an op calls (tf.py_function or tf.numpy_function);"
        text += " no graph, XLA or GPU makes it faster."
        yield call.found("python-called", text, "Write it with TensorFlow ops.", severity, PY_FUNCTION)


FEEDING = {
    "parallel": "map in parallel",
    "prefetched": "prefetch",
    "cached": "cache the elements that stay the same",
    "in-step": "move the work into the step",
}
"""For each variant with a faster input, advice that describes the variant's change."""


def _feeding(call: Call) -> str:
    """Return advice about the input. Omits changes that the arm already has, and changes that the run's other
    arms show to be useless.
    """
    own = call.arm.arm.variant
    ahead = own in ("prefetched", "from-memory", "cached", "in-step")
    useless = {other.arm.variant for other in call.beside("variant") if _is_refuted(call.over(other))}
    useless |= {own, *(("parallel", "prefetched") if ahead else ())}
    left = [words for variant, words in FEEDING.items() if variant not in useless]
    if not left:
        return "No other variant in this run is faster: prepare the data once, or use more processors."
    return f"{capitalized(listed(left, 'or'))}."


def _copies(call: Call) -> Iterator[Diagnosis]:
    parts, severity = call.parts, call.grade(COPYING, *COPIES)
    if severity is None:
        return
    way = "in" if parts.share("copy_in") >= parts.share("copy_out") else "out"
    text = f"{call.spends(*COPIES)} copying"
    if (compute := parts.share("compute")) > 0:
        cost = parts.share(f"copy_{way}")
        text += f"; the copy {way} takes {times(cost / compute)} as long as the compute"
    found = call.over(next((a for a in call.beside("input") if a.arm.input == "resident"), None))
    if _is_refuted(found):
        return
    if found is not None and found.is_slower:
        text += f"; with its input on the device it is {found.words} faster"
    what = "input" if way == "in" else "result"
    remedy = f"Keep the {what} on the device, or do more work there for each copy."
    yield call.found("copy-bound", f"{text}.", remedy, severity, *COPIES)


def _find_unexplained(call: Call) -> Iterator[Diagnosis]:
    parts = call.parts
    if parts.not_known < UNEXPLAINED:
        return
    text = f"{percent(parts.not_known)} of a call of {call.name} is unaccounted for"
    why = f": {parts.note}" if parts.note else ""
    remedy = "The other shares are lower bounds; the timeline shows when each op runs."
    if parts.not_known > ALL:
        text = f"The time of a call of {call.name} cannot be split into parts"
        profile = call.arm.cells[call.point].account
        if profile is not None and profile.not_known <= ALL:  # other load than during the rounds
            remedy = "Measure again on a quiet machine: profiled calls must take as long as the others."
        else:
            remedy = "Calls of a smaller size may be short enough to profile."
    yield call.found("not-known", f"{text}{why}.", remedy, "note", NOT_KNOWN)


PHASE_RULES: tuple[Callable[[Call], Iterator[Diagnosis]], ...] = (
    _dispatch,
    _launch,
    _find_stalls,
    _input,
    _python_called,
    _copies,
    _find_unexplained,
)


def _host_ops(arm: ArmState, point: int) -> Iterator[Diagnosis]:
    """Report the ops of a GPU arm that run on the host."""
    if family(arm.arm.device) != "GPU":
        return
    nodes = nodes_at(arm, point)
    groups = host_groups(nodes)
    remedy = remedies(groups)
    if not remedy:
        return
    total = sum(node.count for node in ops_of(nodes))
    moved = sum(node.count for group in groups for node in group)
    why = "; ".join(_because(group) for group in groups)
    text = f"{moved:,} of {plural(total, 'op')} of {arm.label} ran on the CPU: {why}."
    yield Diagnosis("host-ops", text, remedy, "warning" if moved < total else "error", arm.arm.id)


def host_groups(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return the ops that run on the host, grouped by reason: groups with a remedy first, then larger groups
    first.
    """
    groups: dict[str, list[Node]] = {}
    for node in ops_of(nodes):
        if node.on_host:
            groups.setdefault(node.reason, []).append(node)
    return sorted(groups.values(), key=lambda group: (not _remedy(group), -sum(node.count for node in group)))


def _named(group: Sequence[Node]) -> str:
    return first_few(list(dict.fromkeys(node.op for node in group)), 3)


def _because(group: Sequence[Node]) -> str:
    why = group[0].reason.rstrip(".")
    return f"{_named(group)} ({why})" if why else _named(group)


REMEDIES = {
    "scope": "remove the device scope that pins {ops} to the CPU",
    "no-kernel-for-dtype": "give {ops} a dtype that has a GPU kernel",
    "no-kernel": "move {ops} into the input pipeline or to the end of the call",
    "resource": "create the variable of {ops} on the GPU",
    "colocation": "move the tensors that {ops} are colocated with to the GPU",
    "unknown": "put {ops} inside tf.device('GPU:0')",
}
"""Advice for moving an op to the GPU, by the cause that keeps it on the host.

Other causes need no action: kernels for shapes and indices use host memory by design, and an input pipeline
belongs on the host.
"""


def _remedy(group: Sequence[Node]) -> str:
    ops = {node.op for node in group}
    if ops <= ITERATORS:
        return ""
    if ops <= PYTHON:
        return f"replace the Python code in {_named(group)} with TensorFlow ops"
    return REMEDIES.get(group[0].code, "").format(ops=_named(group))


def remedies(groups: Sequence[Sequence[Node]]) -> str:
    clauses = [clause for clause in map(_remedy, groups) if clause]
    text = "; ".join(dict.fromkeys(clauses))
    return f"{capitalized(text)}." if text else ""


def _first_call(arm: ArmState, point: int) -> Iterator[Diagnosis]:
    """Report tracing and compilation times that pay off only after many calls."""
    found, first = estimate_at(arm, point), arm.cells[point].first_s
    if found is None or first is None or first < FIRST_CALLS * found.median:
        return
    text = f"The first call of {name_of(arm, point)} took {seconds(first)}, as long as "
    text += f"{size(first / found.median, first / found.median / 10)} later calls."
    # A function with an input_signature is traced only once, but XLA still compiles it for each shape.
    if arm.arm.mode == "xla":
        again = "each new combination is compiled again"
    else:
        again = "without an input_signature, each new combination is traced again"
    remedy = f"Call it once before timing, and keep shapes and dtypes fixed: {again}."
    yield Diagnosis("first-call", text, remedy, "note", arm.arm.id)


def _dtypes(arms: list[ArmState], point: int) -> Iterator[Diagnosis]:
    """Compare each arm with the float32 arm that differs only in dtype, or else with the fastest such arm."""
    done: set[str] = set()
    for arm in arms:
        group = [arm, *(other for other in arms if _differ_only_in(other, arm, "dtype"))]
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
        real = name.startswith("complex") and not like.startswith("complex")
        remedy = f"Use {like} if {'the data is real' if real else 'its precision and range suffice'}."
        yield Diagnosis("dtype", text, remedy, "warning" if slow.ratio >= 2 else "note", other.arm.id)
    else:
        text = f"{name} is {slow.turned.words} faster than {like} ({where})."
        remedy = f"Use {name} if its precision and range suffice."
        yield Diagnosis("dtype", text, remedy, "note", other.arm.id)


def _too_small(state: RunState) -> Iterator[Diagnosis]:
    """Report that the arm that wins at larger sizes does not win at the scenario's size."""
    names = axes(state)
    if len(names) != 1 or state.scenario is None:
        return
    here = state.scenario.parameters.get(names[0])
    for found in crossovers(state)[:1]:
        if found.status != "found" or found.ci95 is None or type(here) is not int or here >= found.ci95[0]:
            continue
        winner, loser = state.arms[found.a].label, state.arms[found.b].label
        least = on_axis(names[0], size(found.ci95[1], half_of(found.ci95)))
        text = f"At {on_axis(names[0], size(here))} {loser} is faster: {winner} pays off from {least}."
        remedy = f"Batch small inputs to reach that size, or stay with {loser}."
        yield Diagnosis("too-small", text, remedy, "note", found.a)


def _differ_only_in(a: ArmState, b: ArmState, but: str) -> bool:
    names = ("device", "mode", "input", "dtype", "variant", "host")
    return all((getattr(a.arm, name) == getattr(b.arm, name)) != (name == but) for name in names)
