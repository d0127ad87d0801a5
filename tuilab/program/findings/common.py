"""What the findings share: how one is built, and what a case tells about input and steps. Pure functions."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tuilab.model.program import Bottleneck, Code, Dataset, Stage
from tuilab.program.advice import advise
from tuilab.program.case import Case
from tuilab.program.fold import INPUT, Process, gain_interval, total_seconds
from tuilab.program.gains import NEGLIGIBLE, SAVES_WAITING, factor

AHEAD = ("Prefetch", "Parallel", "MapAndBatch", "MultiDevice")
"""Prefixes of the iterators whose own threads prepare elements in advance."""
RETRACING = 0.05
"""A function is reported as retraced if the traces after the first two take at least this share of the
program's time.
"""
BETWEEN = 0.10
SMALL_OP_S = 30e-6
LEAST_OP_S = 1e-6
"""Minimum duration of an op in a graph in seconds, as measured in loops of small ops."""
LEAST = 20


def finding(
    case: Case, code: Code, at: tuple[str, int], message: str, share: float | None = None, *,
    advice: str = "", change: str = "", interval: tuple[float, float] | None = None,
    sizes: Mapping[str, int] = MappingProxyType({}), beside: float = 0.0, part_of: Code | None = None,
    spent_s: float | None = None, most_s: float | None = None, costs_s: float = 0.0,
) -> Bottleneck:  # fmt: skip
    """Return a finding with its advice.

    share: share of a step, or of the period of `spent_s`. beside: share of another part of a step that the
    fix also removes. spent_s: seconds of the program that the problem takes; None means `share` of all steps.
    most_s: maximum seconds that the fix may save, if more than spent_s. costs_s: one-time cost of the fix in
    seconds. advice: a key of the advice table, `code` by default. change: text that replaces the table's
    advice.
    """
    gain_at_most = ends = program_share = saves_s = None
    if share is not None:
        share = min(1.0, share)
        gain_at_most = factor(share + beside)
        if interval is not None:
            low, high = (min(1.0, end + beside) for end in interval)
            ends = factor(low), factor(high)
    if spent_s is None and share is not None:
        spent_s = min(1.0, share + beside) * case.of.stepping_s
        if code in SAVES_WAITING and code != "no-prefetch":
            spent_s += _waited_outside(case)
    if spent_s is not None and case.lasted_s > 0:
        program_share = min(1.0, spent_s / case.lasted_s)
        saves_s = max(0.0, program_share * case.lasted_s - costs_s)
        gain_at_most = factor(program_share) if gain_at_most is None else gain_at_most
        if most_s is not None or share is None:
            # Unattributed time may also belong to this finding.
            most = max(spent_s, most_s or 0.0) + case.of.unplaced_s
            ends = gain_at_most, max(gain_at_most, factor(most / case.lasted_s))
    beyond_s = _beyond_s(case, code) if share is not None else 0.0
    advised, first, preset = advise(advice or code, case, at)
    return Bottleneck(
        code=code,
        message=message,
        file=at[0],
        line=at[1],
        share=share,
        gain_at_most=gain_at_most,
        gain_ci95=ends,
        program_share=program_share,
        saves_s=saves_s,
        beyond=beyond_s / case.lasted_s if case.lasted_s > 0 else 0.0,
        remedy=change or advised,
        first=first,
        preset=preset,
        sizes=dict(sizes) if preset else {},
        part_of=part_of,
    )


def _beyond_s(case: Case, code: Code) -> float:
    """Return the seconds outside of the steps that the fix of a step may also save."""
    if code == "eager-step":  # ops that Python starts one by one also hold up the threads of the pipeline
        return _waited_outside(case)
    if code not in SAVES_WAITING or case.of.kind != "keras":
        return 0.0
    waited, whole = waited_in_validation(case) if validates_with(case) is None else (0.0, 0.0)
    return whole - waited + case.of.held_up_s


def _waited_outside(case: Case) -> float:
    """Return the seconds that the loop of the steps waits for input outside of its steps, for example in the
    iterator's last call.

    In Keras' loops, this wait may belong to the validation. Returns 0 for a negligible wait.
    """
    in_loop = max(0.0, largest_wait(case)[1] - waiting_share(case)[0] * case.of.stepping_s)
    rest = in_loop + (0.0 if validates_with(case) else waited_in_validation(case)[0])
    return rest if case.of.kind != "batch" and rest > NEGLIGIBLE * case.lasted_s else 0.0


def waited_in_validation(case: Case) -> tuple[float, float]:
    """Return the seconds for which the validation of `fit` waits for input in its graph (0 if unknown), and
    the seconds of its calls.
    """
    of, step = case.of, case.of.functions.get(case.of.step) if isinstance(case.of.step, int) else None
    if of.kind != "keras" or step is None:
        return 0.0, 0.0
    found = [n for n, one in of.functions.items() if (one.file, one.caller) == (step.file, step.caller)]
    waited = whole = 0.0
    for number in found:
        steps = [each for window, seen in of.windows if window.step == number for each in seen.steps]
        if number != of.step and number in of.calls:
            whole += of.calls[number].spent
            waiting, total = sum(each.get(INPUT, 0.0) for each in steps), total_seconds(steps)
            waited += of.calls[number].spent * waiting / total if total else 0.0
    return waited, whole


def validates_with(case: Case) -> Dataset | None:
    """Return the dataset of the validation if it shares no stage with that of the steps; else None."""
    fed = pipeline(case.of)

    def own(dataset: Dataset | None) -> set[tuple[str, int]]:
        return {(stage.file, stage.line) for stage in (dataset.stages if dataset else ()) if stage.own}

    return next((each for each in case.of.datasets if own(each) and not own(each) & own(fed)), None)


def largest_wait(case: Case) -> tuple[tuple[str, int], float]:
    """Return the line that waits longest for input, which is probably in the loop of the steps, and its
    seconds.
    """
    waits: dict[tuple[str, int], float] = defaultdict(float)
    for (kind, stack, _, _), took in case.of.spent.items():
        if kind == "input" and stack:
            waits[stack[-1]] += took
    return max(waits.items(), key=lambda item: item[1], default=(("", 0), 0.0))


def batches(of: Process) -> dict[str, int]:
    out: dict[str, int] = {}
    fed = pipeline(of)
    for dataset in [*([fed] if fed else []), *reversed(of.datasets)]:
        sizes = [stage.size for stage in dataset.stages if stage.size]
        shape = next((shape for shape in dataset.shapes if shape), ())
        batch = sizes[0] if sizes else shape[0] if shape else None
        if batch:
            out["batch"] = batch
            if len(shape) == 4 and shape[1] and shape[1] == shape[2]:
                out["side"] = shape[1]
            break
    return out


def waiting_share(case: Case) -> tuple[float, tuple[float, float] | None]:
    """Return the share of a step spent waiting for input, with its interval, from profiled steps or else from
    waits in Python.
    """
    if case.of.seen:
        return case.of.share(INPUT), gain_interval(case.of.typical, INPUT)
    gaps = case.of.gaps()
    return (gaps.waiting / gaps.total if gaps.total else 0.0), None


def prepared_s(case: Case) -> float | None:
    """Return the seconds per batch for which other threads work for the input pipeline; 0 if unknown.

    Returns None if the profile's iterators rule out that the pipeline prepares batches during a step.
    """
    of = case.of
    if of.iterators and of.iterators >= of.steps.n / 2:
        return None  # each pipeline serves one or two steps
    ran = iterators(of)
    if ran and not of.makers and not any(part.startswith(AHEAD) for part in ran):
        return None
    steps = sum(len(seen.steps) for _, seen in of.profiled)
    return sum(seen.preparing * len(seen.steps) for _, seen in of.profiled) / steps if steps else 0.0


def pipeline(of: Process) -> Dataset | None:
    """Return the dataset that feeds the steps, if any.

    This is the dataset whose stages are most like the iterators in the profile. Of equals, such as the data
    of training and validation, it is the one that the program used first, unless its last use was before the
    first use of another.
    """
    paths = [path.split("::") for _, seen in of.profiled for path in seen.stages]
    longest = max(paths, key=len, default=[])
    ran = Counter(map(kind_of, longest))
    ran["Batch"] += sum("AndBatch" in part for part in longest)
    used: dict[tuple[Stage, ...], list[int]] = {}
    for number, dataset in enumerate(of.datasets):
        used.setdefault(dataset.stages, []).append(number)

    def unlike(stages: Sequence[Stage]) -> int:
        own = Counter(kind_of(stage.stage) for stage in stages)
        return (ran - own).total() + (own - ran).total()

    least = min(map(unlike, used), default=0)
    alike = [numbers for stages, numbers in used.items() if unlike(stages) == least]
    begins = max((numbers[0] for numbers in alike), default=0)
    lasting = [numbers for numbers in alike if numbers[-1] >= begins]
    return of.datasets[min(numbers[0] for numbers in lasting)] if lasting else None


def iterators(of: Process) -> set[str]:
    """Return the kinds of iterators in the profile. TensorFlow may add a prefetch of its own."""
    return {part for _, seen in of.profiled for path in seen.stages for part in path.split("::")}


def kind_of(name: str) -> str:
    name = (
        re.sub(r"(V\d+|\[\d+\])", "", name)
        .replace("Parallel", "")
        .replace("Forever", "")
        .replace("Finite", "")
    )
    return {"MapAndBatch": "Map", "TensorSlices": "TensorSlice"}.get(name, name)


def with_small(of: Process, interval: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the interval of the launch share, with its upper end raised by the time that a graph would save
    on small ops.

    A kernel of a few microseconds spends most of its time on preparation, which fused or compiled ops do not
    repeat.
    """
    if interval is None or not of.seen:
        return interval
    small = 0.0
    for _, seen in of.profiled:
        for op, spent in seen.ops.items():
            runs = seen.counts.get(op, 0.0)
            if runs and spent / runs <= SMALL_OP_S:
                small += max(0.0, spent - runs * LEAST_OP_S) * len(seen.steps)
    return interval[0], min(1.0, interval[1] + small / total_seconds(of.seen))
