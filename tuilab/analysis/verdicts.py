"""Judges a document's claims against the measurements and observations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import assert_never

import msgspec

from tuilab.analysis.bound import ceiling, copies_at_most, least_bound
from tuilab.analysis.bound_words import every_card, parts_words
from tuilab.analysis.crossover import Crossing, SizeRatio, crossings, signs
from tuilab.analysis.operations import computes
from tuilab.analysis.processes import few_processes
from tuilab.analysis.ratios import RatioEstimate
from tuilab.analysis.reading import (
    account_at,
    arm_status,
    axes,
    by_rounds,
    compare,
    device_of,
    elsewhere,
    emulated_sentence,
    estimate_at,
    has_gpu,
    measured,
    no_gpu_sentence,
    summary_point,
    value_at,
    words_at,
)
from tuilab.analysis.roofline import work_of
from tuilab.analysis.sweeps import Series, series_of
from tuilab.analysis.words import capitalized, listed, on_axis, percent, short, size, times
from tuilab.model.account import COPIES, NOT_KNOWN, PHASE_WORDS, Account
from tuilab.model.arms import ArmPattern, family
from tuilab.model.claims import (
    Claim,
    Condition,
    Crosses,
    FactIs,
    Faster,
    KernelFor,
    PhaseShare,
    PlacedOn,
    Raises,
    SamePlacement,
    ShareGrows,
    Verdict,
    VerdictWord,
    WaitsForInput,
)
from tuilab.model.events import Fact, Node
from tuilab.model.quantity import plural, seconds
from tuilab.model.run import ArmState, RunState
from tuilab.model.sanitize import sanitize_line

Judgement = tuple[VerdictWord, str]


def matching(state: RunState, pattern: ArmPattern) -> list[ArmState]:
    return [arm for arm in state.arms.values() if pattern.matches(arm.arm)]


def timed(state: RunState, pattern: ArmPattern, point: int) -> list[ArmState]:
    """Return the matching arms measured at a point, fastest first.

    Excludes arms that ran on a device other than the pattern's.
    """
    arms = [arm for arm in measured(state, point) if pattern.matches(arm.arm)]
    return [arm for arm in arms if not (pattern.device and elsewhere(arm, point))]


def missing(state: RunState, pattern: ArmPattern) -> Judgement:
    """Return why no arm that matches the pattern has a figure: none can run here (untestable), or none did
    run (undecided).
    """
    arms, point = matching(state, pattern), summary_point(state)
    wants_gpu = family(pattern.device) == "GPU" or (bool(arms) and all(_gpu(arm) for arm in arms))
    if wants_gpu and not has_gpu(state):
        return "untestable", no_gpu_sentence(state)
    if not arms:
        wanted, there = family(pattern.device), {family(arm.arm.device) for arm in state.arms.values()}
        if wanted and there and wanted not in there:
            return "untestable", f"The run has no {wanted} arm; set the device to both."
        return "untestable", f"The run has no arm {pattern}."
    moved = [arm for arm in arms if arm in measured(state, point) and elsewhere(arm, point)]
    if moved:
        return (
            "untestable",
            f"{moved[0].label} computed on {device_of(moved[0], point)}, not on {pattern.device}.",
        )
    stopped = [(arm, *arm_status(state, arm, point)) for arm in arms]
    words = {"failed": "failed", "unavailable": "cannot run here"}
    stopped_arms = [(arm.label, words[status], why) for arm, status, why in stopped if status in words]
    if len(stopped_arms) < len(arms):
        return "undecided", f"{listed([arm.label for arm in arms][:3])} was not measured."
    label, verb, why = stopped_arms[0]
    others = f" (and {len(stopped_arms) - 1} more arms)" if len(stopped_arms) > 1 else ""
    return "untestable", f"{label}{others} {verb}{': ' + short(why) if why else ''}."


def _gpu(arm: ArmState) -> bool:
    return family(arm.arm.device) == "GPU"


def faster(when: Faster, state: RunState, claim: Claim) -> Judgement:
    """Judge whether the fastest arm of `a` is faster than the fastest arm of `b`, using the interval of their
    paired ratio.
    """
    point = summary_point(state)
    ours, theirs = timed(state, when.a, point), timed(state, when.b, point)
    shared = {arm.arm.id for arm in ours} & {arm.arm.id for arm in theirs}
    if shared and len(theirs) >= len(ours):  # arms that match both patterns belong to the narrower pattern
        theirs = [arm for arm in theirs if arm.arm.id not in shared]
    elif shared:
        ours = [arm for arm in ours if arm.arm.id not in shared]
    if absent := _absent(state, (when.a, ours), (when.b, theirs)):
        return absent
    a, b = ours[0], theirs[0]
    speedup = compare(b, a, point)
    if speedup is None or speedup.interval is None or speedup.interval[1] > WILD * speedup.interval[0]:
        return "undecided", f"Too few rounds to compare {a.label} with {b.label}."
    most = inf if when.most is None else when.most
    near = _other_processes(state)
    word, here = (_within_limits(speedup.interval, when.by, most, apart) for apart in (near, 1.0))
    stated = when.by != 1 or when.most is not None
    taken = f"; {threshold(claim, when.amount)}" if stated else ""
    if word != here:
        taken += f"; too close to decide from {few_processes(state)}, as others may differ by {near:g}×:"
        taken += " use the budget standard"
    figures = f"{a.label} took {words_at(a, point)}, {b.label} {words_at(b, point)}"
    return word, f"{figures}: {_speed(speedup, when.by, by_rounds(speedup, b, a, point))}{taken}."


APART, APART_WITH = 1.1, {"canary": 1.25, "cpu-contention": 1.5}
"""Factor by which a ratio of two arms may differ in another process or minute, on a quiet host and by caveat.

On a busy host, one ratio was 6.1 to 9.7 in five runs of one process each, and 8.7 to 9.9 by hand.
"""


def _other_processes(state: RunState) -> float:
    """Return the factor by which a ratio may differ outside its interval; 1 if the interval covers enough
    processes.
    """
    if not few_processes(state):
        return 1.0
    return max((APART_WITH.get(flag.code, APART) for flag in state.flags), default=APART)


def _within_limits(interval: tuple[float, float], least: float, most: float, apart: float) -> VerdictWord:
    """Return whether a ratio is from `least` to `most`, if it may also be `apart` times lower or higher."""
    low, high = interval[0] / apart, interval[1] * apart
    holds = (low > least or low == least > 1) and high <= most
    return _decide(holds, high < least or high == least == 1 or low > most)


def _decide(holds: bool, fails: bool) -> VerdictWord:
    return "confirmed" if holds else "refuted" if fails else "undecided"


def _absent(state: RunState, *sides: tuple[ArmPattern, Sequence[ArmState]]) -> Judgement | None:
    """Return why one of the two sides has no figure. If both lack one, prefers a reason that more measuring
    cannot remove.
    """
    reasons = [missing(state, pattern) for pattern, arms in sides if not arms]
    return next((reason for reason in reasons if reason[0] == "untestable"), next(iter(reasons), None))


WILD = 100.0
"""An interval whose ends differ by at least this factor is too wide to decide a claim."""


def _speed(ratio: RatioEstimate, least: float, apart: str = "") -> str:
    """Return `1.27× faster [1.25 1.29]`, from the ratio of b's time to a's. apart: a clause that explains why
    the quotient of the medians differs.

    least: the claimed factor. If an end of the interval rounds to exactly this factor, both ends get more
    digits.
    """
    shown, word = (ratio, "faster") if ratio.ratio >= 1 else (ratio.turned, "slower")
    assert shown.interval is not None
    span = shown.span
    if any(float(end.replace(",", "")) == least for end in span[1:-1].split()):
        ends = [times(end).removesuffix("×") for end in shown.interval]
        span = f"[{ends[0]} {ends[1]}]"
    if float(shown.words.removesuffix("×").replace(",", "")) == 1:
        return f"{shown.words} as fast {span}{apart}"
    return f"{shown.words} {word} {span}" + ("" if ratio.differs else ", which may be noise") + apart


def _range(account: Account, phases: Sequence[str]) -> tuple[float, float]:
    """Return the minimum and maximum share (0 to 1) that the phases may have in total."""
    parts = [part for part in account.parts if part.phase in phases]
    low = sum((part.ci95_s or (part.seconds, part.seconds))[0] for part in parts)
    high = sum((part.ci95_s or (part.seconds, part.seconds))[1] for part in parts)
    high += account.seconds(NOT_KNOWN)
    return low / account.total_s, min(1.0, high / account.total_s)


def phase_share(
    state: RunState, pattern: ArmPattern, phases: Sequence[str], share: float, claim: Claim
) -> Judgement:
    """Judge whether the phases together take at least `share` of a call in every arm of the pattern.

    The bounds of a share come from its phases' intervals. Unexplained time may also belong to these phases.
    """
    point = summary_point(state)
    arms = [(arm, account_at(arm, point)) for arm in timed(state, pattern, point)]
    known = [(arm, account) for arm, account in arms if account is not None]
    what, take = _taking(phases)
    if not known:
        return (
            ("undecided", f"The phases of {pattern} were not measured.") if arms else missing(state, pattern)
        )
    rows: list[tuple[VerdictWord, str]] = []
    for arm, account in known:
        low, high = _range(account, phases)
        word = _decide(low >= share, high < share)
        rows.append((word, _share(account, phases, f" of a call of {arm.label}")))
    taken = threshold(claim, f"at least {percent(share)}")
    return _worst(rows, lambda texts: f"{what.capitalize()} {take} {listed(texts)}; {taken}.")


def _share(account: Account, phases: Sequence[str], of: str = "") -> str:
    """Return `71% of a call of CPU graph (60% to 80%)`, or the maximum share of unobserved phases."""
    share, (low, high) = account.share(*phases), _range(account, phases)
    if not share and high:
        return f"up to {percent(high)}{of}"
    span = f" ({percent(low)} to {percent(high)})" if percent(low) != percent(high) else ""
    return f"{percent(share)}{of}{span}"


def share_grows(when: ShareGrows, state: RunState) -> Judgement:
    """Judge whether the phases' share grows from the smallest to the largest size, in every arm.

    The bounds of both shares come from the phases' intervals and the unexplained time. If the bounds overlap,
    the claim is undecided.
    """
    if when.axis not in axes(state)[:1]:
        return "undecided", _needs_sweep(when.axis)
    what, take = _taking(when.phases)
    by_size = sorted((int(value_at(state, p, when.axis)), p.index) for p in state.points)
    rows: list[tuple[VerdictWord, str]] = []
    for arm in matching(state, when.arms):
        sentences = [
            (value, account)
            for value, point in by_size
            if arm in timed(state, when.arms, point) and (account := account_at(arm, point)) is not None
        ]
        if len(sentences) < 2:
            continue
        (least, first), (greatest, last) = sentences[0], sentences[-1]
        before, after = _range(first, when.phases), _range(last, when.phases)
        word = _decide(after[0] > before[1], after[1] < before[0])
        shares = [
            f"{_share(account, when.phases, of)} at {on_axis(when.axis, size(value))}"
            for value, account, of in ((least, first, " of a call"), (greatest, last, ""))
        ]
        rows.append((word, f"{' and '.join(shares)} in {arm.label}"))
    if not rows:
        several = timed(state, when.arms, summary_point(state))
        text = f"The phases of {when.arms} were not measured at two sizes."
        return ("undecided", text) if several else missing(state, when.arms)
    return _worst(rows, lambda texts: f"{what.capitalize()} {take} {listed(texts)}.")


def _taking(phases: Sequence[str]) -> tuple[str, str]:
    """Return the names of the phases and the matching verb, such as `copying in and copying out`, `take`."""
    return listed([PHASE_WORDS.get(phase, phase) for phase in phases]), "take" if len(phases) > 1 else "takes"


def _worst(rows: Sequence[tuple[VerdictWord, str]], sentence: Callable[[Sequence[str]], str]) -> Judgement:
    """Return the least favorable verdict among the arms, with the names of the arms that have this
    verdict.
    """
    order: tuple[VerdictWord, ...] = ("refuted", "undecided", "confirmed")
    worst = min((word for word, _ in rows), key=order.index)
    return worst, sentence([text for word, text in rows if word == worst][:3])


def _needs_sweep(axis: str) -> str:
    return f"The claim needs a sweep over {axis.replace('_', ' ')}."


def crosses(when: Crosses, state: RunState, claim: Claim) -> Judgement:
    """Judge whether `a` overtakes `b` between two sizes, using the interval of the crossover."""
    if when.axis not in axes(state)[:1]:
        return "undecided", _needs_sweep(when.axis)
    findings = [_crosses(when, state, series, claim) for series in series_of(state)]
    if len({word for word, _ in findings}) == 1:
        return findings[0]
    return "undecided", " ".join(evidence for _, evidence in findings) or "No point was measured."


def _crosses(when: Crosses, state: RunState, series: Series, claim: Claim) -> Judgement:
    sides = []
    for pattern in (when.a, when.b):
        ids = {arm.arm.id for point in series.points.values() for arm in timed(state, pattern, point)}
        sides.append([arm for arm in series.everyone() if arm.arm.id in ids])
    if absent := _absent(state, (when.a, sides[0]), (when.b, sides[1])):
        return absent
    a, b = (series.best(arms) or arms[0] for arms in sides)
    at = series.places(a, b)
    changes = crossings(at)
    evidence = series.crossover(a, b).sentence
    claimed = on_axis(when.axis, f"{size(when.low)} to {size(when.high)}")
    taken = threshold(claim, claimed)
    return _within(when, at, changes), f"{evidence} {capitalized(taken)}."


def _within(when: Crosses, at: Sequence[SizeRatio], changes: Sequence[Crossing]) -> VerdictWord:
    ours = [crossing for crossing in changes if crossing.overtakes]
    if any(when.low <= c.low and c.high <= when.high for c in ours):
        return "confirmed"
    if any(c.low <= when.high and when.low <= c.high for c in ours):
        return "undecided"
    if changes:
        return "refuted"
    known = [sign for sign in signs(at) if sign]
    if not known:
        return "undecided"
    # One arm is faster at every measured size. This refutes the crossover only if the measured sizes extend
    # past the claimed range.
    reached = at[0].size <= when.low if known[0] < 0 else at[-1].size >= when.high and signs(at)[-1] != 0
    return "refuted" if reached else "undecided"


def short_device(name: str) -> str:
    """Shorten a device name: `/job:localhost/replica:0/task:0/device:GPU:0` → `GPU:0`."""
    return name.rpartition("device:")[2]


def placed_on(when: PlacedOn, state: RunState) -> Judgement:
    """Judge whether every op of the type, in all arms of the pattern, ran on a device of the family.

    An op fused with its neighbors counts as the op that does the work: `_FusedMatMul` is a `MatMul`.
    """
    if family(when.device) == "GPU" and not has_gpu(state):
        return "untestable", no_gpu_sentence(state)
    arms = matching(state, when.arms)
    observed = [node for arm in arms for nodes in arm.placement.values() for node in nodes]
    if not observed:
        ran = any(cell.samples for arm in arms for cell in arm.cells.values())
        return ("undecided", "The placement was not observed.") if ran else missing(state, when.arms)
    nodes = [node for node in observed if node.kind == "op" and when.op in (node.op, computes(node.op))]
    if not nodes:
        seen = listed(sorted({node.op for node in observed if node.kind == "op"})[:4], "or")
        return "untestable", f"No {when.op} ran, only ops such as {seen}."
    where: dict[str, int] = {}
    for node in nodes:
        device = short_device(node.device)
        where[device] = where.get(device, 0) + node.count
    total = sum(where.values())
    right = all(when.device in (device, family(device)) for device in where)
    places = listed([f"{number:,} on {device}" for device, number in sorted(where.items())])
    text = f"{plural(total, f'{when.op} op')} observed{_describe_fused(when.op, nodes)}"
    return "confirmed" if right else "refuted", f"Of {text}, {places}."


def _describe_fused(op: str, nodes: Sequence[Node]) -> str:
    """Return ` (2 fused, as _FusedMatMul)`, without the number if all ops are fused; "" if no op is."""
    others = [node for node in nodes if node.op != op]
    number = "" if len(others) == len(nodes) else f"{sum(node.count for node in others):,} "
    return f" ({number}fused, as {listed(sorted({node.op for node in others}))})" if others else ""


def same_placement(when: SamePlacement, state: RunState) -> Judgement:
    """Judge whether each op type runs on the same devices at every point of the sweep, in every arm of the
    pattern.

    An op that the optimizer removes at some sizes counts as not moved.
    """
    arms = [arm for arm in matching(state, when.arms) if len(arm.placement) > 1]
    if when.axis not in axes(state):
        return "undecided", _needs_sweep(when.axis)
    if not arms:
        several = any(arm.placement for arm in matching(state, when.arms))
        text = "The placement was observed at only one size."
        return ("undecided", text) if several else missing(state, when.arms)
    for arm in arms:
        moved = _describe_move(state, when.axis, arm)
        if moved:
            return "refuted" if when.same else "confirmed", moved
    points = max((sorted(arm.placement) for arm in arms), key=len)
    sizes = sorted(int(value_at(state, p, when.axis)) for p in state.points if p.index in points)
    span = on_axis(when.axis, f"{size(sizes[0])} to {size(sizes[-1])}") if sizes else when.axis
    every = [n for arm in arms for nodes in arm.placement.values() for n in nodes if n.kind == "op"]
    devices = {short_device(node.device) for node in every if node.device}
    text = f"At {plural(len(points), 'size')}, {span}, every op kept its device: {listed(sorted(devices))}."
    if not has_gpu(state):
        text += " This machine has only one kind of device."
    return "confirmed" if when.same else "refuted", text


def _describe_move(state: RunState, axis: str, arm: ArmState) -> str:
    """Describe the first op that changes its device along the axis; "" if none does."""
    before: dict[str, tuple[set[str], str]] = {}
    for point in sorted(state.points, key=lambda p: str(value_at(state, p, axis)).zfill(20)):
        here = on_axis(axis, str(value_at(state, point, axis)))
        for op, devices in _devices(arm.placement.get(point.index, ())).items():
            earlier, where = before.setdefault(op, (devices, here))
            if earlier != devices:
                there, now = listed(sorted(earlier)), listed(sorted(devices))
                return f"{op} in {arm.label} ran on {there} at {where} and on {now} at {here}."
    return ""


def _devices(nodes: "list[Node] | tuple[Node, ...]") -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for node in nodes:
        if node.kind == "op":
            out.setdefault(computes(node.op), set()).add(short_device(node.device))
    return out


def kernel_for(when: KernelFor, state: RunState, registry: Mapping[str, frozenset[str]]) -> Judgement:
    """Judge whether TensorFlow's kernel registry lists the kernel. This needs no device."""
    name = f"kernel:{when.op}:{when.dtype}:{when.device}"
    facts = [fact for fact in state.every_fact if fact.name == name]
    if facts:
        has = bool(facts[-1].value)
    elif when.op in registry:
        has = f"{when.dtype}:{when.device}" in registry[when.op]
    else:
        return "undecided", f"The kernel registry was not queried for {when.op} with {when.dtype}."
    version = f"TensorFlow {state.machine.tensorflow}" if state.machine else "This TensorFlow"
    verb = "has a" if has else "has no"
    text = f"{version} {verb} {when.device} kernel of {when.op} for {when.dtype}."
    return "confirmed" if has == when.exists else "refuted", text


def raises(when: Raises, state: RunState) -> Judgement:
    """Judge whether every arm of the pattern that could run raised the error or a subclass of it."""
    wanted = when.error.rpartition(".")[2]
    arms = [arm for arm in matching(state, when.arms) if arm.status != "unavailable"]
    rows = [(arm, errors) for arm in arms if (errors := _raised_errors(arm)) or _ran(arm)]
    if not rows:
        return missing(state, when.arms)
    for arm, errors in rows:
        if not errors:
            return "refuted", f"{arm.label} ran without an error."
        other = next((error for error in errors if wanted not in error), None)
        if other is not None:
            kinds = listed(other[1:], "and")
            of = f", a kind of {kinds}" if kinds else ""
            return "refuted", f"{arm.label} raised {other[0] if other else 'an error'}{of}, not {wanted}."
    arm, errors = rows[0]
    named = errors[0][0]
    of = f", a kind of {wanted}" if named != wanted else ""
    why = short(arm.reason or next((c.reason for c in arm.cells.values() if c.reason), ""))
    text = f"{listed([arm.label for arm, _ in rows][:3])} raised {named}{of}"
    return "confirmed", f"{text}: {why}." if why else f"{text}."


def _raised_errors(arm: ArmState) -> list[tuple[str, ...]]:
    """Return, for each failure of the arm, the names of the error class and its bases."""
    errors = [arm.error] if arm.status == "failed" else []
    errors += [cell.error for cell in arm.cells.values() if cell.status == "failed"]
    return [tuple(name.rpartition(".")[2] for name in error) for error in errors]


def _ran(arm: ArmState) -> bool:
    return any(cell.samples for cell in arm.cells.values()) or arm.status == "ok"


def fact_is(when: FactIs, state: RunState, claim: Claim) -> Judgement:
    """Judge whether every observation of the fact in the arms of the pattern has the claimed value."""
    ids = {arm.arm.id for arm in matching(state, when.arms)}
    facts = [f for f in state.every_fact if f.name == when.fact and (f.arm in ids or not f.arm)]
    if not facts:
        absent = missing(state, when.arms)
        final = absent[0] == "untestable"
        return absent if final else ("undecided", f"The run observed no {when.fact.replace('_', ' ')}.")
    wrong = [fact for fact in facts if not _holds(when, fact)]
    shown = (wrong or facts)[-1]
    text = short(shown.text) or f"{when.fact.replace('_', ' ')} is {shown.value}"
    differ = len({(fact.text, fact.value) for fact in facts}) > 1
    label = f"{state.arms[shown.arm].label}: " if shown.arm in state.arms and differ else ""
    relation = {"is": "", "at-least": "at least ", "at-most": "at most "}[when.relation]
    # For a fact that is true or false, the observed value already shows what the claim requires.
    clear = isinstance(when.value, bool) and isinstance(shown.value, bool)
    clear = clear or (when.relation == "is" and not wrong)
    wanted = f"{relation}{when.value}"
    taken = threshold(claim, wanted) if claim.said else f"the claim requires {wanted}"
    expected = "" if clear else f"; {taken}"
    # A name, such as `get_memory_info`, keeps its case at the start of a sentence.
    begins = not label and text.partition(" ")[0].isalpha()
    said_of = capitalized(text) if begins else f"{label}{text}"
    return "refuted" if wrong else "confirmed", f"{said_of}{expected}."


def _holds(when: FactIs, fact: Fact) -> bool:
    value, wanted = fact.value, when.value
    if when.relation == "is":
        return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
    if isinstance(value, str) or isinstance(wanted, str):
        return False
    return value >= wanted if when.relation == "at-least" else value <= wanted


Registry = Mapping[str, frozenset[str]]
"""The kernels of a TensorFlow build: op → its kernels as `dtype:device`, such as `float64:GPU`."""


BY_BOUND = "Derived from a bound, not measured:"


def by_bound(claim: Claim, state: RunState) -> Judgement | None:
    """Judge a claim about GPUs on a machine without one, from the bounds of all known GPUs; None if the
    bounds do not decide it.

    impossible: no GPU could meet the condition. confirmed: every GPU meets it.
    """
    point = summary_point(state)
    match claim.when:
        case Faster() as when:
            return _faster_by_bound(when, state, point, claim)
        case Crosses() as when:
            return _crosses_by_bound(when, state, claim)
        case PhaseShare() as when:
            return _share_by_bound(when, state, point, claim)
    return None


def _faster_by_bound(when: Faster, state: RunState, point: int, claim: Claim) -> Judgement | None:
    gpu_first = family(when.a.device) == "GPU"
    if gpu_first and family(when.b.device) == "GPU":
        return _faster_than_the_host(when, state, point) if when.most is None else None
    if gpu_first == (family(when.b.device) == "GPU"):
        return None
    gpus, cpus = (when.a, when.b) if gpu_first else (when.b, when.a)
    least = least_bound(state, (arm.arm for arm in matching(state, gpus)), point)
    here = timed(state, cpus, point)
    estimate = estimate_at(here[0], point) if here else None
    if least is None or estimate is None or estimate.interval is None:
        return None
    figures = f"{every_card()} takes less than {parts_words(least)}; {here[0].label} took {estimate.words}"
    if gpu_first and estimate.interval[1] <= when.by * least.seconds:
        taken = threshold(claim, when.amount)
        most = f", {times(estimate.median / least.seconds)} that; {taken}"
        return "impossible", f"{BY_BOUND} {figures}{most if when.by != 1 else ''}."
    if not gpu_first and when.most is None and when.by * estimate.interval[1] <= least.seconds:
        return "confirmed", f"{BY_BOUND} {figures}."
    return None


def _faster_than_the_host(when: Faster, state: RunState, point: int) -> Judgement | None:
    """Confirm a claim about two GPU arms if the work of `b` runs on the host even with a GPU, and `a` would
    beat the host even on the slowest conceivable GPU (`ceiling`). Return None otherwise.
    """
    host = timed(state, msgspec.structs.replace(when.b, device="CPU"), point)
    estimate = estimate_at(host[0], point) if host else None
    work = work_of(state, host[0], point) if host else None
    if estimate is None or estimate.interval is None or work is None or not work.on_host:
        return None
    most = [ceiling(state, arm.arm, point) for arm in matching(state, when.a)]
    best = min((each for each in most if each is not None), default=None)
    if best is None or best * when.by >= estimate.interval[0]:
        return None
    text = f"this work takes {estimate.words} on the host, whatever the device; a GPU a thousand times slower"
    text += f" than the slowest GPU that tuilab knows needs only {seconds(best)}"
    return "confirmed", f"{BY_BOUND} {text}."


def _crosses_by_bound(when: Crosses, state: RunState, claim: Claim) -> Judgement | None:
    """Judge a claimed crossover impossible if both ends of the claimed range were measured and no GPU could
    be faster at any measured size in it; otherwise return None.
    """
    if family(when.a.device) != "GPU" or family(when.b.device) == "GPU" or axes(state)[:1] != (when.axis,):
        return None
    inside: list[int] = []
    for point in state.points:
        value = value_at(state, point, when.axis)
        here = timed(state, when.b, point.index)
        estimate = estimate_at(here[0], point.index) if here else None
        if not isinstance(value, int) or not when.low <= value <= when.high:
            continue
        least = least_bound(state, (arm.arm for arm in matching(state, when.a)), point.index)
        if (
            least is None
            or estimate is None
            or estimate.interval is None
            or estimate.interval[1] > least.seconds
        ):
            return None
        inside.append(value)
    if not inside or min(inside) > when.low or max(inside) < when.high:
        return None
    span = on_axis(when.axis, f"{size(when.low)} to {size(when.high)}")
    text = f"at {span} {every_card()} could match the CPU's measured time; {threshold(claim, 'that range')}"
    return "impossible", f"{BY_BOUND} {text}."


def _share_by_bound(when: PhaseShare, state: RunState, point: int, claim: Claim) -> Judgement | None:
    """Judge a claimed share of copies impossible if a host library does the work; otherwise return None.

    The library's time was measured here, and copies cannot be slower than the slowest link.
    """
    if family(when.arms.device) != "GPU" or not set(when.phases) <= {"copy_in", "copy_out"}:
        return None
    host = msgspec.structs.replace(when.arms, device="CPU")
    for arm in timed(state, host, point):
        account, most = account_at(arm, point), copies_at_most(state, arm, point)
        if account is None or most is None:
            continue
        own = account.total_s - account.seconds(*COPIES, NOT_KNOWN)
        share = most / (most + own)
        if own > 0 and share < when.share:
            text = (
                f"the host computes for {seconds(own)}, whatever the device; even over one lane of PCI "
                f"Express 1.0, which is slower than any GPU's link, copies take only {seconds(most)}, "
                f"{percent(share)} of a call"
            )
            return "impossible", f"{BY_BOUND} {text}; {threshold(claim, f'at least {percent(when.share)}')}."
    return None


def judge(claim: Claim, state: RunState, registry: Registry | None = None) -> Verdict:
    """Return the verdict, with the evidence in a sentence with numbers.

    undecided: an interval contains the claimed threshold, or the run has not (yet) measured the required
    figures. untestable: this machine cannot measure it (no GPU is visible, or the op or arm does not run
    here). impossible: see `by_bound`. registry: TensorFlow's kernels, for claims about kernels if the run has
    no fact `kernel:<Op>:<dtype>:<device>`.
    """
    if claim.gpu and not has_gpu(state):
        return Verdict(claim.text, "untestable", no_gpu_sentence(state))
    word, evidence = _judge(claim, _on_one_gpu(claim.when, state), registry or {})
    if word == "untestable" and not has_gpu(state) and (firm := by_bound(claim, state)):
        word, evidence = firm
    if claim.hedged and word in ("refuted", "impossible"):
        word = "undecided"
        evidence += f" The document says “{claim.hedged}”, which one machine cannot refute."
    note = emulated_sentence(state) if claim.about_gpu or _on_gpu(claim.when, state) else ""
    return Verdict(
        claim.text, word, f"{evidence} {note}".strip(), emulated=bool(note),
        apart=sanitize_line(state.apart, 200) if word != "untestable" else "",
    )  # fmt: skip


def _on_gpu(when: Condition, state: RunState) -> bool:
    arms = [arm for pattern in when.patterns for arm in matching(state, pattern)]
    if isinstance(when, FactIs):
        observed = {fact.arm for fact in state.every_fact if fact.name == when.fact}
        arms = [arm for arm in arms if arm.arm.id in observed]
    return any("GPU" in (arm.device or "") for arm in arms)


def _on_one_gpu(when: Condition, state: RunState) -> RunState:
    """Return the run with the arms of only one GPU, unless the claim names a GPU by number.

    A result for one GPU need not hold for another, and both arms of a pair must use the same GPU.
    """
    arms = list(state.arms.values())
    gpus = sorted({arm.arm.device for arm in arms if _gpu(arm)}, key=lambda d: int(d.partition(":")[2]))
    if len(gpus) < 2 or any(":" in pattern.device for pattern in when.patterns):
        return state
    timed_on = {arm.arm.device for arm in arms for cell in arm.cells.values() if cell.samples}
    first = next((device for device in gpus if device in timed_on), gpus[0])
    kept = {name: arm for name, arm in state.arms.items() if not _gpu(arm) or arm.arm.device == first}
    return replace(state, arms=kept)


def threshold(claim: Claim, amount: str) -> str:
    """Describe the source of a threshold: our interpretation of a document's word, the document's number, or
    our default.
    """
    if claim.said:
        return f"we take “{claim.said}” as {amount}"
    return f"the document says {amount}" if claim.quoted else f"the threshold, {amount}, is ours"


def _judge(claim: Claim, state: RunState, registry: Registry) -> Judgement:
    when = claim.when
    match when:
        case Faster():
            return faster(when, state, claim)
        case Crosses():
            return crosses(when, state, claim)
        case PhaseShare():
            return phase_share(state, when.arms, when.phases, when.share, claim)
        case ShareGrows():
            return share_grows(when, state)
        case WaitsForInput():
            return phase_share(state, when.arms, ("input_wait",), when.share, claim)
        case PlacedOn():
            return placed_on(when, state)
        case SamePlacement():
            return same_placement(when, state)
        case KernelFor():
            return kernel_for(when, state, registry)
        case Raises():
            return raises(when, state)
        case FactIs():
            return fact_is(when, state, claim)
    assert_never(when)


def by_host(state: RunState) -> dict[str, RunState]:
    """Return each host's part of the run, by the host's name in `Arm.host`; the run itself if there is only
    one host.

    The parts refer to the same samples as the run; nothing is copied.
    """
    hosts = list(dict.fromkeys(arm.arm.host for arm in state.arms.values()))
    if len(hosts) < 2:
        return dict.fromkeys(hosts or [""], state)
    return {host: _part(state, host) for host in hosts}


def _part(state: RunState, host: str) -> RunState:
    machine = state.machines.get(host)
    return replace(
        state,
        arms={name: arm for name, arm in state.arms.items() if arm.arm.host == host},
        machine=machine or state.machine,
        machines={host: machine} if machine else {},
    )


def verdicts(state: RunState, claims: Sequence[Claim]) -> tuple[Verdict, ...]:
    """Judge each claim separately for each host, because a claim refers to the devices of one machine."""
    parts = by_host(state)
    if len(parts) < 2:
        return tuple(judge(claim, state) for claim in claims)
    judged = [(host, judge(claim, part)) for claim in claims for host, part in parts.items()]
    return tuple(_named(verdict, host) for host, verdict in judged)


def _named(verdict: Verdict, host: str) -> Verdict:
    evidence = f"{host or 'this machine'}: {verdict.evidence}"
    return msgspec.structs.replace(verdict, evidence=evidence, host=host)
