"""Describes the bounds for a GPU that is not present. The numbers come from `analysis.bound`."""

from collections.abc import Sequence

import msgspec

from tuilab.analysis.bound import along, bounds_of_arm, fastest_cpu, leads
from tuilab.analysis.reading import axes, estimate_at, has_gpu, point_words, summary_point, value_at
from tuilab.analysis.words import capitalized, listed, on_axis, size, times
from tuilab.model.datasheets import SHEETS, USUAL, DataSheet
from tuilab.model.quantity import seconds, significant
from tuilab.model.roofline import GpuBound, SweepBound
from tuilab.model.run import ArmState, RunState

BUSY_START = (
    "This host was too busy to measure TensorFlow's dispatch overhead; measure again when it is quiet."
)
MOST_TIMES = 100
"""The largest speedup limit to print; a larger limit says no more than "far faster"."""
LIMITS = {
    "starting the call": "TensorFlow's dispatch overhead on this host",
    "preparing the input": "preparing the input on this host",
}


def article(sheet: DataSheet) -> str:
    return f"{'an' if sheet.name[0] in 'AHLR' else 'a'} {sheet.name}"


def every_card() -> str:
    """Return `none of the N NVIDIA cards that tuilab knows`, the subject of a sentence."""
    return f"none of the {len(SHEETS)} NVIDIA cards that tuilab knows"


def parts_words(bound: GpuBound) -> str:
    """Return the bound's time and the part that limits it, such as `31 µs (24 µs of it copies)`."""
    launches = f"{bound.kernels:,} launches" if bound.kernels > 1 else "a launch"
    name = launches if bound.limited_by == "launches" else _limit(bound)
    parts = {
        "copies": bound.copies_s,
        "arithmetic": bound.arithmetic_s,
        "memory bandwidth": bound.memory_s,
        launches: bound.launches_s,
        "the ops that stay on the CPU": bound.stays_s,
    }
    largest = parts.get(name, bound.host_s)
    whole = seconds(bound.seconds)
    if not largest:
        return whole
    part = seconds(min(largest, bound.seconds))
    return f"{whole} ({'all' if part == whole else part} of it {name})"


def bound_sentence(state: RunState, against: str = "") -> str:
    """Describe what a GPU could achieve, for a run without one; "" if nothing was measured on a CPU.

    For a run with a GPU, `against` must name the GPU to compare with.
    """
    point = summary_point(state)
    if has_gpu(state) and not against:
        return ""
    sheet = SHEETS[against or USUAL]
    lead = fastest_cpu(state, point)
    if lead is None:
        return ""
    others = leads(state, point)[1:] if state.model is not None else []
    arms = [lead, *(o for o in others if o.arm.variant != lead.arm.variant and o.arm.dtype == lead.arm.dtype)]
    found = [bounds_of_arm(state, arm, point, sheet) for arm in arms]
    if against and not any(found):
        return f"The best case on {article(sheet)} is unknown: the work of a call was not counted."
    several = sum(any(map(_open, bounds)) for bounds in found) > 1
    text = ""
    for arm, bounds in zip(arms, found, strict=True):
        text += "" if arm is lead else f" {capitalized(arm.arm.variant)}: "
        text += _headline(state, arm, point, sheet, bounds, busy_start="" if several else f" {BUSY_START}")
    if several:
        text += f" {BUSY_START}"
    where = f"At {_place(state, point)}: " if axes(state) and text else ""
    return where + text + _at_largest(state, point, sheet, found[0])


def _at_largest(state: RunState, point: int, sheet: DataSheet, here: Sequence[GpuBound]) -> str:
    """Describe the bound at the largest size of a sweep of one axis; "" if the description is the same as at
    `point`.
    """
    names = axes(state) if not state.running else ()
    sizes = {p.index: value_at(state, p, names[0]) for p in state.points} if len(names) == 1 else {}
    known = {at: value for at, value in sizes.items() if isinstance(value, int) and fastest_cpu(state, at)}
    largest = max(known, key=lambda at: known[at], default=point)
    lead = fastest_cpu(state, largest)
    if largest == point or lead is None or not here:
        return ""
    found = bounds_of_arm(state, lead, largest, sheet)
    if not found or found[0].verdict == "not known" or _have_same_words(found[0], here[0]):
        return ""
    return f" At {_place(state, largest)} {article(sheet)} {_clause(found[0])}."


def _headline(
    state: RunState,
    lead: ArmState,
    point: int,
    sheet: DataSheet,
    found: Sequence[GpuBound],
    busy_start: str,
) -> str:
    if not found:
        return ""
    name = article(sheet)
    first, timed = found[0], estimate_at(lead, point)
    here = f" Measured here: {timed.words}." if timed else ""
    if first.verdict == "not known":
        return f"The best case on {name} is unknown: {first.why}."
    if first.verdict == "cannot win" and first.why:
        whose = name if "fit" in first.why else "a GPU"
        return f"{capitalized(whose)} cannot win: {first.why}."
    if all(bound.verdict == "cannot win" for bound in found):
        return _cannot_win(state, lead, point, sheet, found) + here
    text = f"{capitalized(name)} {_clause(first)}{_stays(first)}{f'; {first.why}' * bool(first.why)}."
    for other in found[1:]:
        if not _have_same_words(first, other):
            text += f" With the input copied in each call, it {_clause(other)}."
    return text + here + (busy_start if any(_open(bound) for bound in found) else "")


def _cannot_win(
    state: RunState, lead: ArmState, point: int, sheet: DataSheet, found: Sequence[GpuBound]
) -> str:
    every = [bound for each in SHEETS.values() for bound in bounds_of_arm(state, lead, point, each)]
    least = min(every, key=lambda bound: bound.seconds)
    if all(bound.verdict == "cannot win" for bound in every):
        return f"A GPU cannot win{_as_graph(least)}: {every_card()} takes less than {parts_words(least)}."
    own = min(found, key=lambda bound: bound.seconds)
    name = capitalized(article(sheet))
    return f"{name} cannot win{_as_graph(own)}: it takes at least {parts_words(own)}."


def _as_graph(bound: GpuBound) -> str:
    """If launches limit the bound, return a clause that names the arm's mode, because another mode may need
    fewer launches; else "".
    """
    if bound.mode == "xla" or bound.limited_by != "launches":
        return ""
    return " as a plain graph, without XLA or CUDA graphs" if bound.mode == "graph" else " op by op"


def _clause(bound: GpuBound) -> str:
    """Return `would likely be 4 to 15× faster, and at most 31× (limited by memory bandwidth)`."""
    if bound.verdict == "cannot win":
        return f"cannot win (limited by {_limit(bound)})"
    if bound.busy is not None and _open(bound):
        if bound.busy[1] > MOST_TIMES:
            return f"may be faster or slower (no upper limit below {MOST_TIMES}× is known)"
        return f"could be at most {significant(bound.busy[1], 2)}× faster"
    likely = _likely(bound)
    word = "faster" if bound.expected is not None and bound.expected[0] > 1 else "as fast"
    if (bound.at_most or 0.0) > MOST_TIMES:
        if bound.expected is not None and bound.expected[1] > MOST_TIMES:
            verb = "would be far faster" if bound.expected[0] > 1 else "may be far faster"
            return f"{verb} (likely {likely})"
        begin = f"would likely be {likely} {word}" if likely else "could be far faster"
        return f"{begin} (its upper limit is above {MOST_TIMES}×)"
    most = f"at most {times(bound.at_most or 0.0)}"
    if not likely:
        return f"could be {most} faster (limited by {_limit(bound)})"
    if bound.expected is not None and bound.expected[1] <= 1:
        tail = f", and {most} faster" if (bound.at_most or 0.0) > 1 else ""
        return f"would likely be slower ({likely} as fast){tail} (limited by {_limit(bound)})"
    return f"would likely be {likely} {word}, and {most} (limited by {_limit(bound)})"


def _open(bound: GpuBound) -> bool:
    """Return True if the printed limit depends on the unknown launch cost."""
    return bound.verdict == "could win" and bound.busy is not None and bound.busy[0] <= MOST_TIMES


def _likely(bound: GpuBound) -> str:
    """Return the expected speedups, `4 to 15×`; "" if they are unknown."""
    if bound.expected is None:
        return ""
    low, high = bound.expected
    if low > MOST_TIMES:
        return f"over {MOST_TIMES}×"
    if high > MOST_TIMES:
        return f"{significant(low, 2)}× or more"
    # If the expected speedup reaches the limit, omit the range.
    return _range(low, high) if low < 0.95 * (bound.at_most or high) else ""


def _range(low: float, high: float) -> str:
    first, last = significant(low, 2), significant(high, 2)
    return f"{last}×" if first == last else f"{first} to {last}×"


def _limit(bound: GpuBound) -> str:
    return LIMITS.get(bound.limited_by, bound.limited_by)


def _stays(bound: GpuBound) -> str:
    if not bound.stays:
        return ""
    ops = [stay.op for stay in sorted(bound.stays, key=lambda stay: -(stay.seconds or 0.0))]
    took = seconds(bound.stays_s) if bound.stays_s else "a few µs"  # too short for the profiler
    return f"; {listed(ops[:3])} stay{'s' if len(ops) == 1 else ''} on the CPU ({took})"


def _have_same_words(a: GpuBound, b: GpuBound) -> bool:
    return a.verdict == b.verdict and _clause(a) == _clause(b)


def _place(state: RunState, point: int) -> str:
    return point_words(state, point, axes(state)[:1])


def bound_words(state: RunState) -> str:
    """Return the default GPU's bound in a few words, such as `H100: likely 4–15×`; "" without a bound."""
    point = summary_point(state)
    lead = fastest_cpu(state, point)
    if lead is None or has_gpu(state):
        return ""
    sheet = SHEETS[USUAL]
    found = bounds_of_arm(state, lead, point, sheet)
    if not found or found[0].verdict == "not known":
        return ""
    if all(bound.verdict == "cannot win" for bound in found):
        return "a GPU cannot win" if found[0].why else f"{sheet.name} cannot win"
    best = max(found, key=lambda bound: bound.at_most or 0.0)
    if best.busy is not None:
        return f"{sheet.name}: at most {significant(best.busy[1], 2)}×" if best.busy[1] <= MOST_TIMES else ""
    if (best.at_most or 0.0) > MOST_TIMES:
        return f"{sheet.name}: far faster"
    likely = _likely(best).replace(" to ", "–")  # nothing longer fits into 80 columns
    return (
        f"{sheet.name}: likely {likely}" if likely else f"{sheet.name}: at most {times(best.at_most or 0.0)}"
    )


def sweep_bound(state: RunState, sheet: DataSheet) -> SweepBound | None:
    """Return a GPU's bounds along the axis of a sweep, with a sentence; None if there are no bounds."""
    found = along(state, sheet)
    if found is None:
        return None
    source = "according to its data sheet and the dispatch overhead on this host"
    text = f"{capitalized(article(sheet))} {_turns(found)}, {source}."
    return msgspec.structs.replace(found, sentence=text)


def _turns(found: SweepBound) -> str:
    earliest, points = found.overtakes_from, found.points
    if earliest is None:
        reach = on_axis(found.axis, f"up to {size(points[-1].value)}")
        return f"does not overtake at any measured size, {reach}"
    if earliest == points[0].value:
        return "could be faster at every measured size"
    return f"could overtake at {on_axis(found.axis, size(earliest))} at the earliest"


def sweep_sentence(state: RunState, against: str = "") -> str:
    """Describe the size above which a GPU could win, for a finished sweep; "" for other runs.

    On a host with a GPU, `against` must name another GPU.
    """
    if state.running or (has_gpu(state) and not against):
        return ""
    found = sweep_bound(state, SHEETS[against or USUAL])
    return found.sentence if found is not None else ""
