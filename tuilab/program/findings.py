"""Finds where a watched program loses time. Each kind of problem has its own function. Pure functions.

Findings are based only on observations. `share` is a share of the steps' time. By Amdahl's law, removing that
share makes the steps at most 1 / (1 - share) times as fast.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal

from msgspec.structs import replace

from tuilab.analysis.words import listed, percent
from tuilab.model.account import PY_FUNCTION
from tuilab.model.ops import PYTHON
from tuilab.model.program import AccountKind, Bottleneck, Code, Dataset, Facts, Hello, Stage
from tuilab.model.quantity import plural, seconds
from tuilab.model.quantity import size as bytes_of
from tuilab.program import source
from tuilab.program.advice import TABLE, advise
from tuilab.program.case import Beside as Beside
from tuilab.program.case import Case as Case
from tuilab.program.effects import fed_back
from tuilab.program.fold import (
    CALLBACK,
    INPUT,
    STARTING,
    Gaps,
    Process,
    gain_interval,
    share_interval,
    total_seconds,
)
from tuilab.program.gains import NEGLIGIBLE, SAVES_WAITING, exceeds, factor, limited_by_input
from tuilab.program.graph import Op, ops_of, reason_of
from tuilab.program.sites import (
    LARGE,
    METHODS,
    Site,
    called,
    calls_of_models,
    large_parts,
    line_s,
    rebuilt,
    sites_of,
    steps_of_a_call,
)

WAITING = 0.15
FULL = 0.8
"""A program that uses at least this share of its processors is assumed to need all of them."""
LEAST_BESIDE = 0.005
AHEAD = ("Prefetch", "Parallel", "MapAndBatch", "MultiDevice")
"""Prefixes of the iterators whose own threads prepare elements in advance."""
MANY_TRACES, RETRACING = 4, 0.05
"""A function is reported as retraced if it has at least this many traces, and if the traces after the first
two take at least this share of the program's time.
"""
USED = 10
"""A library's tf.function counts as recreated if it is called at most this many times per creation. More
calls indicate several training runs.
"""
QUICK_FIRST = 0.6
"""A function's first trace in a fresh process takes at least this share of its time in the watched process.
Five pairs of runs gave 0.6 to 1.2.
"""
BETWEEN = 0.10
UNSEEN, UNSEEN_S = 0.25, 100e-6
"""Time between steps without a sampled line is reported if it is at least this share of a step, and at least
this many seconds per step.
"""
TRAINERS = ("keras.src.trainers", "keras.src.backend.tensorflow.trainer")
READING, READING_EACH = 0.05, 0.8
"""Reads of values are reported if they take at least this share of the time, and if there are at least this
many per step.
"""
FEEDING_BYTES = 2**20
SMALL_OP_S, MANY_OPS, SCHEDULED = 30e-6, 100, 0.5
COMPILED_OP_S, COMPILED_CALL_S = 3e-3, 0.1e-3
"""Seconds that XLA takes to compile one op of a graph (0.2 ms to 4.5 ms in eight graphs on a CPU), and
overhead in seconds per call of the compiled graph.
"""
LEAST_OP_S = 1e-6
"""Minimum duration of an op in a graph in seconds, as measured in loops of small ops."""
DOUBLE, IDLE, CALLED = 0.10, 0.20, 0.10
LEFT_OF_DOUBLES = 0.75
"""Maximum share of float64 ops' time that float32 can save on a CPU."""
LEAST = 20
SINGLES, FEW_OPS = 0.2, 3
"""Individual ops are reported if launching them takes at least this share of a step, and if there are at
least this many per step.
"""
MANY_STEPS, STARTED = 100, 0.7
"""The batches of `fit` are reported as small if there are at least this many steps, and if launching ops
takes at least this share of a step.
"""
MOSTLY = 0.8
"""Typical steps contain a line's time if their Python code takes at least this share of it."""
LOOPING = 0.3
"""The iterations of a loop of ops count as steps if the loop takes at least this share of the program's
time.
"""

MANY_CALLS, FEW_STEPS, PER_ROW = 10, 2.5, 0.05
"""Calls to Keras in a loop are reported if there are at least this many, with at most this many steps each,
and with at least this share of the program's time outside their graphs.
"""
RUNNING: tuple[AccountKind, ...] = ("graphs", "eager", "input")
FEW_ROWS = 64
"""A call whose number of steps is unknown counts as small up to this many samples, two of Keras' default
batches.
"""
SLOWER = 1.5
"""A slowdown is reported if the last steps take at least this many times as long as the first steps."""
_MATRIX = ("MatMul", "Conv", "BatchMatMul", "Einsum", "CudnnRNN", "gemm", "conv")
_MEMORY_LEFT = 0.05


def findings(case: Case) -> tuple[Bottleneck, ...]:
    """Return all findings, largest saving first. The parts of a finding are also findings, and follow it."""
    found: dict[tuple[Code, str, int], Bottleneck] = {}
    for look in LOOKS:
        # If several checks report the same cause on a line, keep the first finding, because earlier checks
        # are more precise.
        for each in look(case):
            found.setdefault(each.key, each)
    if not any(each.code in SAVES_WAITING for each in found.values()):
        explained = {(each.file, each.line) for each in found.values()}
        found |= {each.key: each for each in waiting_elsewhere(case, explained)}
    waits, prepared = _waited(case)[0], _prepared(case)
    explained = {(each.file, each.line) for each in found.values()}
    found |= {each.key: each for each in sleeping(case, explained, bool(case.of.datasets and prepared))}
    usual = case.of.mean_step_s
    pace = min(1.0, prepared / usual) if prepared and usual else prepared
    limited = [limited_by_input(each, waits, pace, _is_serial(case)) for each in found.values()]
    if prepared and pace:
        meanwhile = f"; the input pipeline works for {seconds(prepared)} per batch on other threads"
        limited = [
            replace(each, message=each.message + meanwhile)
            if each.if_input_keeps_up and exceeds(before, pace)
            else each
            for each, before in zip(limited, found.values(), strict=True)
        ]
    if any(each.code == "input-bound" for each in limited):
        limited = [
            replace(each, remedy=f"make the input faster first (input-bound), then {each.remedy}")
            if each.if_input_keeps_up and each.remedy
            else each
            for each in limited
        ]
    order = sorted(limited, key=lambda f: (-(f.saves_s or 0.0), -(f.gain_at_most or 0.0)))
    return tuple(
        each
        for first in order
        if not first.part_of
        for each in (first, *(f for f in order if f.part_of == first.code))
    )


def _finding(
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
    # Ops that Python starts one by one also hold up the threads of the pipeline.
    crowds = code == "eager-step" and share is not None and case.lasted_s > 0
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
        beyond=_waited_outside(case) / case.lasted_s if crowds else 0.0,
        remedy=change or advised,
        first=first,
        preset=preset,
        sizes=dict(sizes) if preset else {},
        part_of=part_of,
    )


def _waited_outside(case: Case) -> float:
    """Return the seconds that the loop of the steps waits for input outside of its steps, for example in the
    iterator's last call.

    In Keras' loops, this wait may belong to the validation. Returns 0 for a negligible wait.
    """
    rest = _largest_wait(case)[1] - _waited(case)[0] * case.of.stepping_s
    return rest if case.of.kind != "batch" and rest > NEGLIGIBLE * case.lasted_s else 0.0


def _largest_wait(case: Case) -> tuple[tuple[str, int], float]:
    """Return the line that waits longest for input, which is probably in the loop of the steps, and its
    seconds.
    """
    waits: dict[tuple[str, int], float] = defaultdict(float)
    for (kind, stack, _, _), took in case.of.spent.items():
        if kind == "input" and stack:
            waits[stack[-1]] += took
    return max(waits.items(), key=lambda item: item[1], default=(("", 0), 0.0))


def waiting_elsewhere(case: Case, explained: set[tuple[str, int]]) -> Iterator[Bottleneck]:
    """Yield a finding for lines that wait for input outside of the steps, such as the loop of a training
    whose steps take less time than those of the evaluation.

    explained: lines to leave out, because other findings name them.
    """
    if case.of.kind in ("batch", ""):
        return
    in_steps = _waited(case)[0] * case.of.stepping_s
    every = sum(took for (kind, *_), took in case.of.spent.items() if kind == "input")
    # Keras calls in a loop build a pipeline each; it is not their input that is slow.
    called = {site.at for site in sites_of(case) if site.call in METHODS and site.loop[1]}
    stages = (stage for dataset in case.of.datasets for stage in dataset.stages)
    python = any(PYTHON & set(stage.ops) for stage in stages)
    of_steps, _ = _largest_wait(case)
    for part in large_parts(case, ("input",), explained | called):
        own = in_steps if part.at == of_steps else 0.0
        spent = min(part.seconds - own, every - in_steps)
        if spent >= LARGE * case.lasted_s:
            text = f"waiting for input outside the steps described here takes {seconds(spent)}"
            text += "; a pipeline of the program runs Python" * python
            advice = "input-elsewhere, python" if python else "input-elsewhere"
            yield _finding(case, "input-elsewhere", part.at, text, advice=advice, spent_s=spent)


def sleeping(case: Case, explained: set[tuple[str, int]], prepares: bool) -> Iterator[Bottleneck]:
    """Yield a finding for lines that wait for something other than TensorFlow, such as a sleep in a step of
    individual ops.

    explained: lines to leave out, because other findings name them. prepares: True if a pipeline prepares
    batches meanwhile, for which the steps would otherwise wait.
    """
    for part in large_parts(case, ("waiting",), explained):
        where = f" in {part.function}()" if part.function else ""
        text = f"waiting for something other than TensorFlow{where} takes {seconds(part.seconds)}"
        found = _finding(
            case, "between-steps", part.at, text, advice="between-steps, waiting", spent_s=part.seconds
        )
        yield replace(found, if_input_keeps_up=prepares)


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


def matrices(of: Process) -> dict[str, int]:
    """Return the sizes of the first matrix product with known shapes, under the names that matmul presets
    use.
    """
    described = of.traces.get(of.step, []) if isinstance(of.step, int) else []
    shapes = [one[1] for _, rows in described[:1] for one in rows or () if one[0] == "tensor"]
    found = [shape for shape in shapes if isinstance(shape, list) and len(shape) == 2 and all(shape)]
    if not found:
        return {}
    m, k = found[0]
    return {"m": m, "k": k, "n": next((other[1] for other in found[1:] if other[0] == k), k)}


# Keras calls in loops, and models rebuilt in loops


def call_sites(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for loops that call predict, evaluate or fit for little more than one step each."""
    sites = sites_of(case)
    each = steps_of_a_call(case, sites)
    # Calls cannot be merged if each iteration builds a new model.
    anew = {found.loop for found in rebuilt(case, sites, MANY_TRACES)}
    for site in sites:
        method = METHODS.get(site.call)
        if method is None or not site.loop[1] or site.loop in anew or site.count < MANY_CALLS:
            continue
        steps = each.get(site.call)
        if steps is None and not 0 < site.samples <= FEW_ROWS * site.count:
            continue
        lost = site.overhead_s - (steps.seconds * site.count if steps else 0.0)
        if (steps and steps.n > FEW_STEPS) or lost < PER_ROW * case.lasted_s:
            continue
        fed = method == "predict" and fed_back(case.sources, *site.at)
        text = f"{called(site)}: each call builds a pipeline for little more than one step"
        advice = "predict, fed back" if fed else method
        # A single call for all rows may also need less computing time.
        most_s = line_s(sites, site)
        yield _finding(case, "between-steps", site.at, text, advice=advice, spent_s=lost, most_s=most_s)


def rebuilding(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for models, layers and optimizers that a loop rebuilds in each iteration."""
    sites, loops = sites_of(case), set[tuple[str, int]]()
    each = steps_of_a_call(case, sites)
    for found in rebuilt(case, sites, MANY_TRACES):
        loops.add(found.loop)
        share = found.spent_s / case.lasted_s if case.lasted_s > 0 else 0.0
        if share < RETRACING:
            continue
        text = f"the model is {found.what} again in each iteration of the loop on line {found.loop[1]}"
        text += f": {plural(found.traces, 'trace')} in {plural(found.times, 'round')}"
        # The first calls of a rebuilt model are slow as well.
        around = sum(
            max(0.0, site.overhead_s - (each[site.call].seconds * site.count if site.call in each else 0.0))
            for site in sites
            if site.loop == found.loop and site.call in METHODS
        )
        yield _finding(case, "rebuilt", found.at, text, spent_s=found.spent_s, most_s=found.spent_s + around)
    for loop in {site.loop for site in sites if site.loop[1]} - loops:
        inside = [site for site in sites if site.loop == loop]
        spent = sum(site.kinds["building"] for site in inside)
        # A loop that only adds layers builds one model. A loop that also runs steps builds a model per
        # iteration.
        runs = sum(site.kinds[kind] for site in inside for kind in RUNNING)
        if spent < RETRACING * case.lasted_s or runs < spent / 10 or not _again(case, inside):
            continue
        # this may be a few training runs, each with its own model
        if 0 < max(site.count for site in inside) < MANY_TRACES:
            continue
        most = max(inside, key=lambda site: site.kinds["building"])
        text = (
            f"layers, models or optimizers are built in the loop on line {loop[1]}, which also runs steps: "
        )
        text += seconds(spent)
        # The maximum also covers variables that a new object creates in its first ops, such as an optimizer's
        # first update.
        most_s = sum(site.total_s for site in inside if site.kinds["building"])
        yield _finding(case, "rebuilt", most.at, text, advice="rebuilt, a part", spent_s=spent, most_s=most_s)


def _again(case: Case, inside: Sequence[Site]) -> bool:
    """Return True if the loop built an object after it had run steps, so it must have iterated at least
    twice.
    """
    spans = case.of.spans
    built = [spans["building", site.at][1] for site in inside if ("building", site.at) in spans]
    ran = [spans[kind, site.at][0] for site in inside for kind in RUNNING if (kind, site.at) in spans]
    return bool(built and ran) and max(built) > min(ran)


def model_calls(case: Case) -> Iterator[Bottleneck]:
    sites = sites_of(case)
    for site in calls_of_models(case):
        took = site.kinds["eager"]
        if not site.loop[1] or site.count < MANY_CALLS or took < PER_ROW * case.lasted_s:
            continue
        if site.samples > FEW_STEPS * site.count:
            continue
        rows = round(site.samples / site.count)
        each = f", {'a row' if rows == 1 else f'{rows} rows'} at a time" if rows else ""
        text = f"the model is called {plural(site.count, 'time')}{each}, and runs op by op: {seconds(took)}"
        advice, most_s = "eager-step, a model", max(took, line_s(sites, site))
        yield _finding(case, "eager-step", site.at, text, advice=advice, spent_s=took, most_s=most_s)


def saving(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for models and checkpoints that are saved repeatedly."""
    for site in sites_of(case):
        took = site.kinds["saving"]
        if not site.loop[1] and site.call not in METHODS:
            continue
        if site.count == 1 or took < BETWEEN * case.lasted_s:
            continue
        if site.call in METHODS and any((each.file, each.line) == site.at for each in between(case)):
            continue  # `between` reports callbacks that save
        times = f" {plural(site.count, 'time')}" * (site.call not in METHODS and site.count > 0)
        text = f"saving takes {seconds(took)}{times}"
        yield _finding(case, "saving", site.at, text, spent_s=took)


def slowing(case: Case) -> Iterator[Bottleneck]:
    pace = case.of.pace()
    if pace is None or pace.late_s < SLOWER * pace.early_s:
        return
    lost = pace.lost_s * case.of.steps.n / max(1, pace.n)
    lost -= case.of.delayed  # steps also become longer while other programs use the processors
    if lost < BETWEEN * case.lasted_s:
        return
    early, late = (seconds(each) for each in (pace.early_s, pace.late_s))
    text = f"steps slow down: {early} in the first fifth, {late} in the last"
    yield _finding(case, "slowing", case.step_at(), text, spent_s=lost)


# Input


def _waited(case: Case) -> tuple[float, tuple[float, float] | None]:
    """Return the share of a step spent waiting for input, with its interval, from profiled steps or else from
    waits in Python.
    """
    if case.of.seen:
        return case.of.share(INPUT), gain_interval(case.of.typical, INPUT)
    gaps = case.of.gaps()
    return (gaps.waiting / gaps.total if gaps.total else 0.0), None


def _prepared(case: Case) -> float | None:
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
    ran = Counter(map(_kind, longest))
    ran["Batch"] += sum("AndBatch" in part for part in longest)
    used: dict[tuple[Stage, ...], list[int]] = {}
    for number, dataset in enumerate(of.datasets):
        used.setdefault(dataset.stages, []).append(number)

    def unlike(stages: Sequence[Stage]) -> int:
        own = Counter(_kind(stage.stage) for stage in stages)
        return (ran - own).total() + (own - ran).total()

    least = min(map(unlike, used), default=0)
    alike = [numbers for stages, numbers in used.items() if unlike(stages) == least]
    begins = max((numbers[0] for numbers in alike), default=0)
    lasting = [numbers for numbers in alike if numbers[-1] >= begins]
    return of.datasets[min(numbers[0] for numbers in lasting)] if lasting else None


def iterators(of: Process) -> set[str]:
    """Return the kinds of iterators in the profile. TensorFlow may add a prefetch of its own."""
    return {part for _, seen in of.profiled for path in seen.stages for part in path.split("::")}


def crowded(of: Process, kind: str = "") -> float:
    """Return an upper bound on the share of a step that a concurrent pipeline costs by using the step's
    processors.

    Assumes that the step could always use those processors. Excludes time in which the step waits for input,
    and time in which stages only wait: in all, the pipeline uses no more processors than the process does, of
    which the step's ops use at least one. Returns 0 for steps that compute on another device. kind: count
    only this kind of stage.
    """
    if of.hello is None or not of.hello.processors or of.share("compute on CPU") < of.share("compute on GPU"):
        return 0.0
    work = sum(
        each * len(seen.steps)
        for _, seen in of.profiled
        for path, each in seen.stages.items()
        if path.rpartition("::")[2] not in ("Root", "Prefetch")
        and kind in ("", _kind(path.rpartition("::")[2]))
    )
    profiled = total_seconds(of.seen)
    beside = work / profiled - of.share(INPUT) if profiled else 0.0
    used = of.processors - of.share("compute on CPU") / of.hello.processors if of.processors else 1.0
    return min(1.0, max(0.0, min(beside / of.hello.processors, used)))


def _spent(of: Process) -> dict[str, float]:
    """Return the seconds per step that each iterator of the pipeline takes, by its path, without its inputs
    and without the stages that only pass batches on.
    """
    spent: dict[str, float] = defaultdict(float)
    for _, seen in of.profiled:
        for path, value in seen.stages.items():
            spent[re.sub(r"\[\d+\]", "", path)] += value * len(seen.steps)
    steps = sum(len(seen.steps) for _, seen in of.profiled)
    spent = {
        path: value / steps
        for path, value in spent.items()
        if path.rpartition("::")[2] not in ("Root", "Prefetch")
    }
    # The inputs of this iterator run in a thread of their own, for which the iterator waits.
    return {
        path: max(0.0, value - sum(spent[each] for each in spent if each.startswith(path + "::")))
        if path.endswith("MapAndBatch")
        else value
        for path, value in spent.items()
    }


def slowest(case: Case) -> tuple[Stage | None, bool]:
    """Return the pipeline's slowest stage, and True if TensorFlow ran that stage in parallel.

    Uses the iterators in the profile, because TensorFlow may fuse and parallelize stages. A parallel stage
    that takes longest may wait for its inputs. Then, of the stages that take at least half as long, returns
    the one nearest to the data source.
    """
    fed, spent = pipeline(case.of), _spent(case.of)
    path = max(spent, key=lambda one: spent[one], default="")
    if fed is None or not spent or not spent[path]:
        return None, False
    own = path.rpartition("::")[2]
    if own.startswith("Parallel"):
        path = max(
            (one for one, value in spent.items() if value >= spent[path] / 2), key=lambda one: one.count("::")
        )
        own = path.rpartition("::")[2]
    best = next(filter(None, (_stage_at(path, each) for each in [fed, *reversed(case.of.datasets)])), None)
    # TensorFlow merges a map with a batch, but makes calls of Python code parallel only on request.
    asked = best is None or best.stage.startswith("Parallel") or not PYTHON & set(best.ops)
    return best, "Parallel" in own or ("MapAndBatch" in own and asked)


def _is_serial(case: Case) -> bool:
    """Return True if no stage of the pipeline is parallel, so that a batch takes at least the time that the
    stages work for it.

    TensorFlow runs a map that it merged with a batch in parallel, unless the map calls Python code.
    """
    fed, ran = pipeline(case.of), iterators(case.of)
    asked = fed is not None and any(stage.stage.startswith("Parallel") for stage in fed.stages)
    merged = "MapAndBatch" in ran and not _python_maps(case)
    return not asked and not merged and not any(part.startswith("Parallel") for part in ran)


def _stage_at(path: str, dataset: Dataset) -> Stage | None:
    """Return the stage of a dataset that a path in the profile leads to; None if the dataset has none."""
    kinds = [_kind(part) for part in path.split("::")]
    if kinds[-1] == "Generator":
        return next((stage for stage in dataset.stages if "GeneratorDataset" in stage.ops), None)
    stages = [stage for stage in dataset.stages if _kind(stage.stage) == kinds[-1]]
    # If several stages have this kind, choose the one at the same position among them.
    return stages[min(kinds.count(kinds[-1]), len(stages)) - 1] if stages else None


def _without(case: Case, stage: Stage | None, share: float) -> float:
    """Return the share of a step that is saved if a stage of the pipeline takes no time.

    The other stages take as long as before, and may still make the step wait. share: share of a step spent
    waiting for input. Assumes that the stage causes all of it if the pipeline has parallel stages.
    """
    fed, spent = pipeline(case.of), _spent(case.of)
    if fed is None or stage is None or not _is_serial(case):
        return share
    parts: dict[int, float] = defaultdict(float)
    for path, value in spent.items():
        parts[path.count("Prefetch")] += value  # a prefetched part works in a thread of its own
    whole = max(parts.values(), default=0.0)
    for path, value in spent.items():
        if _stage_at(path, fed) is stage:
            parts[path.count("Prefetch")] -= value
    return min(share, 1 - max(parts.values()) / whole) if whole else share


def _kind(name: str) -> str:
    name = (
        re.sub(r"(V\d+|\[\d+\])", "", name)
        .replace("Parallel", "")
        .replace("Forever", "")
        .replace("Finite", "")
    )
    return {"MapAndBatch": "Map", "TensorSlices": "TensorSlice"}.get(name, name)


def waiting(case: Case) -> Iterator[Bottleneck]:
    share, interval = _waited(case)
    if case.of.steps.n < LEAST // 2:
        return
    if case.of.undisturbed(share) < WAITING:
        yield from _find_python_map(case, share, interval)
        return
    held, parallel = slowest(case)
    stage, kind = _at_fault(case, held)
    beside = crowded(case.of)
    # The processors that the input uses may also have slowed the step, so this raises only the maximum.
    low, high = interval or (share, share)
    interval = low, min(1.0, high + beside)
    saved = _without(case, stage, share)
    ends = min(low, saved), interval[1]
    at_once = parallel and stage is held and not kind
    yield _input_bound(case, stage, kind, share, saved, ends, beside, at_once)
    python = [stage] if stage is not None and kind == "python" else [] if parallel else _python_maps(case)
    for each in python[:1]:
        serial = each.stage == "Map" and not parallel
        how = ", one at a time" if serial else "; its Python code holds the GIL"
        saved = _without(case, each, share)
        ends = min(low, saved), interval[1]
        if saved >= NEGLIGIBLE:
            yield _python_in_map(case, each, how, saved, ends, serial=serial, part_of="input-bound")
    if stage is not None and stage is held and not kind and held.stage == "Map" and not parallel:
        yield from _serial_map(case, stage, share, interval)
    yield from _not_prefetched(case, share, interval)


def _serial_map(
    case: Case, stage: Stage, share: float, interval: tuple[float, float]
) -> Iterator[Bottleneck]:
    """Yield a finding for a map that could run in parallel, unless the processors have no time for it."""
    most = case.of.in_parallel(interval[1])
    # While the step waits for a processor, other programs use all of them.
    saved = min(share, max(0.0, most - case.of.starved))
    if saved < NEGLIGIBLE:
        return
    yield _finding(
        case,
        "serial-map",
        (stage.file, stage.line),
        f"{_shown(stage)} processes one element at a time",
        saved,
        interval=(min(interval[0], saved), most),
        sizes=batches(case.of),
        part_of="input-bound",
    )


def _at_fault(case: Case, held: Stage | None) -> tuple[Stage | None, Literal["", "python", "generator"]]:
    """Return the user's stage that makes the step wait, if known, and the kind of Python code that the stage
    runs.

    held: the slowest stage.
    """
    fed = pipeline(case.of)
    flat = [stage for stage in (fed.stages if fed else ()) if stage.own and stage.stage == "FlatMap"]
    generators = [stage for stage in flat if (PYTHON | {"GeneratorDataset"}) & set(stage.ops)]
    python = _python_maps(case)
    if held is None or not held.own:
        held = next(iter(python or generators), None)
    if held in python:
        return held, "python"
    return held, "generator" if held in generators else ""


def _python_maps(case: Case) -> list[Stage]:
    fed = pipeline(case.of)
    stages = [stage for stage in (fed.stages if fed else ()) if stage.own and _kind(stage.stage) == "Map"]
    return [stage for stage in stages if PYTHON & set(stage.ops)]


def _input_bound(
    case: Case,
    stage: Stage | None,
    kind: str,
    share: float,
    saved: float,
    interval: tuple[float, float],
    beside: float,
    parallel: bool,
) -> Bottleneck:
    """Return the finding that the step waits for input. saved: share of a step that is saved if the stage
    takes no time.
    """
    step = case.of.times().median_s or 0.0
    text = f"{percent(share)} of each step ({seconds(share * step, share * step / 20)}) is input wait"
    if stage is not None:
        text += f"; {'a Python generator' if kind == 'generator' else _shown(stage)} is slowest"
        text += ", although it runs in parallel" if parallel else ""
    if (stage is None or kind == "generator") and case.of.makers:
        (file, line, name), _ = case.of.makers.most_common(1)[0]
        text += f"; its batches are created in {name} ({PurePath(file).name}:{line})"
    if beside >= LEAST_BESIDE:
        text += f"; input work takes up to {percent(beside)} of the processors that the step computes on"
    useless = parallel or kind == "python" or case.of.in_parallel(1.0) < NEGLIGIBLE
    advice = "input-bound, in parallel" if useless else "input-bound"
    if kind == "generator":
        advice = "input-bound, generator"
    elif _is_cached(case, stage):
        advice = "input-bound, cached"
    at = (stage.file, stage.line) if stage else case.step_at()
    sizes = batches(case.of)
    return _finding(case, "input-bound", at, text, saved, advice=advice, interval=interval, sizes=sizes)


def _is_cached(case: Case, stage: Stage | None) -> bool:
    """Return True if the pipeline caches the results of this stage, or caches at all if the stage is
    unknown.
    """
    fed = pipeline(case.of)
    for each in fed.stages if fed else ():  # the last stage comes first
        if each is stage:
            return False
        if "Cache" in each.stage:
            return True
    return False


def _not_prefetched(case: Case, share: float, interval: tuple[float, float] | None) -> Iterator[Bottleneck]:
    """Yield a finding for a pipeline that prepares the next batch only after the step.

    Preparing the batch during the step saves at most the shorter of the two times.
    """
    fed, ran = pipeline(case.of), iterators(case.of)
    own = next((stage for stage in (fed.stages if fed else ()) if stage.own), None)
    # A map that TensorFlow merged with the batch prepares the next batch during the step.
    if not ran or own is None or any(part.startswith(("Prefetch", "MapAndBatch")) for part in ran):
        return
    overlap = case.of.in_parallel(min(share, 1 - share))
    if overlap < NEGLIGIBLE:
        return
    yield _finding(
        case,
        "no-prefetch",
        (own.file, own.line),
        "no stage is prefetched: the next batch is prepared only after the step has ended",
        overlap,
        interval=(min(overlap, interval[0], 1 - interval[1]), overlap) if interval else None,
        sizes=batches(case.of),
        part_of="input-bound",
    )


def _find_python_map(case: Case, share: float, interval: tuple[float, float] | None) -> Iterator[Bottleneck]:
    """Yield a finding for a map in Python that hardly delays the input but competes with the step for
    processors.

    Ignores TensorFlow's own ops, because their processor time is the pipeline's regular work.
    """
    python, beside = _python_maps(case), crowded(case.of, "Map")
    # A map that sleeps or waits for a disk uses no processor.
    if case.of.processors < FULL or not python or case.of.undisturbed(share + beside) < WAITING:
        return
    how = f" during the step, on up to {percent(beside)} of the processors that the step computes on"
    yield _python_in_map(case, python[0], how, share, interval, serial=False, beside=beside)


def _python_in_map(
    case: Case,
    stage: Stage,
    how: str,
    share: float,
    interval: tuple[float, float] | None,
    *,
    serial: bool,
    beside: float = 0.0,
    part_of: Code | None = None,
) -> Bottleneck:
    return _finding(
        case,
        "python-in-map",
        (stage.file, stage.line),
        f"{_shown(stage)} calls Python for each element{how}",
        share,
        advice="python-in-map, serial" if serial else "python-in-map",
        interval=interval,
        sizes=batches(case.of),
        beside=beside,
        part_of=part_of,
    )


def _shown(stage: Stage) -> str:
    word = re.sub(r"^Parallel", "", stage.stage)
    word = re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower()
    name = f"({stage.function})" if stage.function and stage.function != "<lambda>" else ""
    return f".{word}{name}"


# Functions and traces


def _compiling(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for functions that XLA recompiles for new shapes without a retrace."""
    of = case.of
    for number, (n, took) in of.compiled.items():
        spent = took * (n - 2) / n
        if n < MANY_TRACES or spent < RETRACING * case.lasted_s:
            continue
        calls = of.calls[number]
        name = of.functions[number].name.rpartition(".")[2]
        each = f"{seconds(took / n, took / n / 20)} each"
        usual = max(0.0, calls.spent + sum(t for t, _ in of.traces.get(number, ())) - took) / max(
            1, calls.n - n
        )
        if calls.n > n:
            each += f", {seconds(usual, usual / 20)} for a known shape"
        text = f"{name} was compiled by XLA {n} times for {n} shapes: {each}"
        yield _finding(case, "xla-recompiles", case.function_at(number), text, spent_s=spent)


def tracing(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for functions that are repeatedly retraced or recompiled by XLA."""
    yield from _compiling(case)
    of = case.of
    first = min((calls.first for calls in of.calls.values() if calls.n), default=0.0)
    # End the period at the last call, because later time, such as the program's exit, is not spent on these
    # functions.
    total = max((calls.ends[-1] for calls in of.calls.values() if calls.n), default=0.0) - first
    if total <= 0:
        return
    groups: dict[tuple[str, int, str], list[int]] = defaultdict(list)
    for number, function in of.functions.items():
        groups[*case.function_at(number), function.name].append(number)
    anew = {found.loop for found in rebuilt(case, sites_of(case), MANY_TRACES)}
    for (file, line, name), numbers in groups.items():
        if (file, source.loop(case.sources, file, line)) in anew and not of.functions[numbers[0]].own:
            continue  # the model is rebuilt, together with its functions
        traces = [trace for number in numbers for trace in of.traces.get(number, [])]
        if len(traces) < MANY_TRACES or not file:
            continue
        whole, spent = (sum(took for took, _ in some) for some in (traces, traces[2:]))
        share = min(1.0, spent / total)
        if share < RETRACING:
            continue
        # The first trace is always needed, but may be faster in another process. Each trace may also slow
        # down the steps that follow it.
        after = sum(of.calls[number].slower() for number in numbers if number in of.calls)
        first_at_most = (1 - QUICK_FIRST) * traces[0][0]
        most = min(1.0, (sum(took for took, _ in traces[1:]) + first_at_most + after) / total)
        xla = any(of.functions[number].xla for number in numbers)
        changes = differences([what for _, what in traces])
        differed = listed(changes)
        made = max(len(numbers), *(of.made.get(number, 0) for number in numbers))
        if made >= MANY_TRACES and len(traces) <= 2 * made:
            calls = sum(of.calls[number].n for number in numbers if number in of.calls)
            if calls > USED * made and not any(of.functions[number].own for number in numbers):
                continue  # several training runs compile their model once each
            differed, advice = "the tf.function was created again each time", "retraced, recreated"
        else:
            kind = "several changes" if len(changes) > 1 else differed
            advice = f"retraced, {kind}" if f"retraced, {kind}" in TABLE else "retraced"
            advice = "xla-recompiles" if xla and "a new shape" in changes else advice
        code: Code = "xla-recompiles" if xla else "retraced"
        verb = "compiled by XLA" if xla else "traced"
        text = f"{name.rpartition('.')[2]} was {verb} {len(traces)} times, which took "
        text += (
            f"{seconds(whole)}, {seconds(spent)} of it after the second {'compilation' if xla else 'trace'}"
        )
        text += f": {differed}" if differed else ""
        yield _finding(
            case, code, (file, line), text, share, advice=advice, interval=(share, most), spent_s=spent
        )


RARE = 0.1
"""Share of the changes below which a kind of change is not named."""


def differences(described: list[list[list[object]] | None]) -> list[str]:
    """Return the kinds of changes between the calls that caused traces, such as `a new shape`, the most
    frequent first. Omits rare changes.
    """
    found: Counter[str] = Counter()
    for one, other in pairwise(described):
        changes = set()
        for a, b in zip(one or (), other or (), strict=False):
            if a == b:
                continue
            if a[0] == b[0] == "number":
                changes.add("a Python number")
            elif a[0] == b[0] == "tensor":
                changes.add("a new shape" if a[1] != b[1] else "a new dtype")
            else:
                changes.add("a new object")
        # A new object may reuse the id of a deleted one.
        if not changes and any(each[0] == "object" for each in one or ()):
            changes.add("a new object")
        found.update(sorted(changes))
    return [change for change, n in found.most_common() if n >= RARE * found.total()]


# Python code between steps or instead of a graph


def eager(case: Case) -> Iterator[Bottleneck]:
    of, key = case.of, case.of.step
    facts = of.facts
    if facts is not None and facts.eager_functions:
        share, interval = _overhead(case)
        yield _finding(
            case,
            "eager-functions",
            source.call(case.sources, "run_functions_eagerly"),
            "tf.config.run_functions_eagerly(True): no tf.function runs as a graph",
            share,
            interval=interval,
        )
        return
    if not isinstance(key, tuple):
        yield from _one_by_one(case)
        return
    if of.tapes[key][0] < LEAST // 2:
        return
    share, interval = _overhead(case)
    at, advice = key, "eager-step"
    found = source.argument(case.sources, "run_eagerly")
    if of.tapes[key][1] or found[1]:
        at, advice = (found if found[1] else key), "eager-step, of Keras"
    text = "the step runs op by op in Python"
    text += (
        f"; {percent(share)} of it is Python and dispatch that a graph saves{_asleep(case)}" if share else ""
    )
    yield _finding(case, "eager-step", at, text, share, advice=advice, interval=interval)


def _one_by_one(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for ops that Python launches one by one, if a tf.function exists or is possible."""
    of = case.of
    singles = of.singles()
    ops, share = round(singles.ops), singles.starting
    if (
        ops < FEW_OPS
        or of.undisturbed(share) < SINGLES
        or of.steps.n < LEAST // 2
        or case.ops_at() in of.called_back()
    ):
        return
    seen = (of.samples + of.after).total()
    if of.steps is of.loops and of.stacks.total() < LOOPING * seen:
        return
    whole, interval = _overhead(case)
    text, advice = f"{plural(ops, 'op')} in a step", "eager-step"
    if isinstance(of.step, int):
        name = of.functions[of.step].name.rpartition(".")[2]
        text += f" run eagerly in addition to {name}: starting them takes {percent(share)} of the step"
        advice = "eager-step, outside"
        # The fix may also remove the Python code between these ops, but not the time that the ops themselves
        # take in a graph.
        interval = (share, min(1.0, share + of.share("python")))
    else:
        assert whole is not None
        text += f" run op by op from Python; {percent(whole)} of the step is Python and dispatch"
        text += f" that a graph saves{_asleep(case)}"
        share = whole
    yield _finding(case, "eager-step", case.ops_at(), text, share, advice=advice, interval=interval)


def _overhead(case: Case) -> tuple[float | None, tuple[float, float] | None]:
    """Return the share of Python and dispatch in a step that runs op by op, and its interval.

    Both exclude the time for which the loop of the ops sleeps, because a graph would not save it. The share
    and the lower end also exclude its Python code that starts no ops, such as preparing data with NumPy.
    """
    if not case.of.seen:
        return None, None
    names = ("python", *STARTING)
    asleep, python = asleep_share(case), _share_of_steps(case, _looped(case, "python"))
    share, interval = case.of.share(*names), _with_small(case.of, gain_interval(case.of.typical, *names))
    ends = (max(0.0, interval[0] - asleep - python), max(0.0, interval[1] - asleep)) if interval else None
    return max(0.0, share - asleep - python), ends


def _asleep(case: Case) -> str:
    share = asleep_share(case)
    return f", and {percent(share)} is a sleep that stays" if share >= NEGLIGIBLE else ""


def asleep_share(case: Case) -> float:
    """Return the share of the steps for which the lines of their loop sleep, without rare pauses."""
    return _share_of_steps(case, _looped(case, "waiting") - case.of.pauses_s)


def _share_of_steps(case: Case, spent_s: float) -> float:
    whole = case.of.stepping_s
    return min(1.0, max(0.0, spent_s) / whole) if whole > 0 else 0.0


def _looped(case: Case, kind: AccountKind) -> float:
    """Return the seconds that the lines of the loops of individual ops spend on this kind of work."""
    sites = sites_of(case)
    loops = {site.loop for site in sites if site.loop[1] and site.kinds["eager"]}
    return sum(site.kinds[kind] for site in sites if site.loop in loops)


def _with_small(of: Process, interval: tuple[float, float] | None) -> tuple[float, float] | None:
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


def reading(case: Case) -> Iterator[Bottleneck]:
    of = case.of
    steps, times_ = of.steps.n, of.times()
    if steps < LEAST or not times_.median_s:
        return
    for (file, line), (n, took, _) in of.reads.items():
        share = took / (times_.median_s * steps)
        if of.seen:  # a read also waits for pending work, which takes that time anyway
            share = min(share, 1 - of.share("compute", PY_FUNCTION))
        if n >= steps * READING_EACH and share >= READING:
            yield _finding(
                case,
                "read-each-step",
                (file, line),
                f"a value is copied to the host in each step ({n:,} times), which takes "
                f"{percent(share)} of the step time",
                min(share, 0.95),
            )


def _converted(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for NumPy arrays that each step converts with tf.constant or tf.convert_to_tensor."""
    of = case.of
    for at, (n, size, took) in of.copied.items():
        steps = of.steps.n
        if steps < LEAST // 2 or n < steps * READING_EACH:
            continue
        share, interval = min(1.0, took / of.stepping_s if of.stepping_s else 0.0), None
        if case.gpus and of.seen:  # the array is also copied to the device
            share, interval = of.share("copies"), gain_interval(of.typical, "copies")
        if share < READING:
            continue
        each = size / n
        text = f"a NumPy array of {bytes_of(round(each))} is converted to a tensor in each step"
        text += f": {percent(share)} of a step"
        yield _finding(case, "numpy-fed", at, text, share, interval=interval)


def feeding(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for NumPy arrays that the program passes to each step."""
    yield from _converted(case)
    of = case.of
    for number, (n, size) in of.fed.items():
        each = size / n
        calls = of.calls.get(number)
        if calls is None or n < max(LEAST // 2, calls.n // 2) or each < FEEDING_BYTES:
            continue
        share = interval = None
        if of.step == number and of.seen:
            # The conversion is part of `dispatch` and the copy part of `copies`, so these two parts limit the
            # gain.
            share, interval = of.share("copies", "dispatch"), gain_interval(of.typical, "copies", "dispatch")
        at = of.functions[number].caller or case.function_at(number)
        name = of.functions[number].name.rpartition(".")[2]
        yield _finding(
            case,
            "numpy-fed",
            at,
            f"NumPy arrays of {each / 1e6:.0f} MB are passed to {name} and copied in each call",
            share,
            interval=interval,
        )


def between(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for Python code between the steps: callbacks, logging, checkpoints."""
    of = case.of
    gaps = of.gaps()
    if gaps.total <= 0 or of.steps.n < LEAST // 2:
        return
    if of.iterators >= of.steps.n / 2:
        yield from _set_up_anew(case, gaps)
        return
    reads = sum(took for _, took, _ in of.reads.values()) * of.steps.kept
    regular, rare = (gaps.python - gaps.rare) / gaps.total, gaps.rare / gaps.total
    # Individual ops have their own finding, except in callbacks.
    called_back = of.called_back()
    single = {stack[-1] for stack in of.stacks} - called_back
    if of.seen and case.ops_at() not in called_back:  # part of the time between calls may belong to ops
        regular = max(0.0, min(regular - of.singles().share, of.share("python")))
    share = max(0.0, regular + rare - reads / gaps.total)
    if of.undisturbed(share) < BETWEEN:
        return
    lines: Counter[tuple[str, int]] = Counter()
    libraries: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    seen = 0
    calling = of.functions[of.step].caller if isinstance(of.step, int) and of.step in of.functions else None
    for (file, line, _, library, inside), count in of.samples.items():
        if inside != -1 or not file:
            continue
        seen += count
        if case.gpus and (file, line) in of.reads:
            continue  # this line waits for a GPU that is still running steps
        if (file, line) in single:
            continue  # an individual op runs on that line
        # Users can change a callback, but not TensorFlow's or Keras' own code around a step.
        around = (file, line) == calling or library.startswith(TRAINERS)
        if not around or library.startswith(CALLBACK):
            lines[file, line] += count
            libraries[file, line][library] += count
    own_loop = source.loop(case.sources, *calling) if calling else 0
    asleep = _sleeping_line(case, regular * gaps.total / 2) if regular >= UNSEEN else None
    if asleep is not None and asleep not in lines and of.kind != "keras":
        # The line that calls the step sleeps too, so its samples do not tell the two apart.
        lines, seen = Counter({asleep: 1}), 1
    elif (
        not lines
        and regular >= UNSEEN
        and regular * gaps.total / of.steps.n >= UNSEEN_S
        and of.kind != "keras"
    ):
        # The observer cannot sample Python code that rarely releases the GIL.
        at = (calling[0], own_loop) if calling and own_loop else case.step_at()
        lines[at] = seen = 1
    if not lines:
        return
    # There are few samples. If at least half of them are in user lines, those lines may account for all of
    # the time.
    theirs = sum(lines.values()) / seen
    share *= 1.0 if theirs >= 0.5 else theirs
    interval = gain_interval(of.typical, "python") if of.seen else None
    if interval is not None:
        # Profiling lengthens the other parts of a step, so this share is a lower estimate.
        # With a pipeline, the calls vary because it uses the same processors.
        quickest = 0.0 if _prepared(case) else 1 - gaps.least / gaps.total
        interval = min(share, interval[0]), max(share, interval[1], quickest)
    at, there = lines.most_common(1)[0]
    library = next(iter(libraries[at].most_common(1)), ("", 0))[0]
    if of.undisturbed(share) < BETWEEN:
        return
    what = source.line(case.sources, *at) or PurePath(at[0]).name
    if library.startswith(CALLBACK):
        what = library.removeprefix(CALLBACK)
    # A change of the named line saves only this line's part.
    named, asleep_at = share * there / sum(lines.values()), _waits_at(case, at)
    if asleep_at:  # samples prefer sleeps to the code before them, but the account knows how long these took
        named = min(1.0, asleep_at / max(of.whole_s, of.mean_step_s * of.steps.n))
    spent = asleep_at or named * gaps.total
    in_typical = of.steps.n * of.share("python") * (of.times().median_s or 0.0)
    if of.pauses_s >= spent / 2 and in_typical < MOSTLY * spent:  # a typical step does not become shorter
        text = f"{percent(share)} of the time is spent between steps, mostly in pauses here: {what}"
        advice = "between-steps, waiting" if asleep_at else ""
        yield _finding(case, "between-steps", at, text, advice=advice, spent_s=spent)
        return
    if named < share:
        interval = named, max(share, interval[1] if interval else 0.0)
    late = of.share(*STARTING)
    more = (
        (f"; starting ops ({percent(late)} of a step) may also become faster if this time is saved")
        if late >= BETWEEN
        else ""
    )
    yield _finding(
        case,
        "between-steps",
        at,
        f"{percent(share)} of the time is spent between steps{f', mostly here: {what}' * bool(what)}{more}",
        named,
        advice="between-steps, waiting" if asleep_at else "",
        interval=interval,
        # The account also covers sleeps in steps that traced.
        spent_s=spent,
    )


def _waits_at(case: Case, at: tuple[str, int]) -> float:
    """Return the seconds that a line takes outside TensorFlow if it sleeps for most of them; else 0."""
    there = [site.kinds for site in sites_of(case) if site.at == at]
    waiting, python = (sum(kinds[kind] for kinds in there) for kind in ("waiting", "python"))
    return waiting + python if waiting > python else 0.0


def _sleeping_line(case: Case, least_s: float) -> tuple[str, int] | None:
    """Return the user's line that slept longest, if it slept for at least this many seconds."""
    slept: dict[tuple[str, int], float] = defaultdict(float)
    for site in sites_of(case):
        slept[site.at] += site.kinds["waiting"]
    longest = max(slept, key=lambda line: slept[line], default=None)
    return longest if longest is not None and 0 < slept[longest] >= least_s else None


def _set_up_anew(case: Case, gaps: Gaps) -> Iterator[Bottleneck]:
    """Yield a finding for pipelines that are created for one or two steps each, such as by predict() in a
    loop.
    """
    of = case.of
    if any(site.call in METHODS and site.loop[1] for site in sites_of(case)):
        return  # `call_sites` already reports these lines
    share = gaps.python / gaps.total
    lines: Counter[tuple[str, int]] = Counter()
    for (file, line, _, library, inside), count in of.samples.items():
        if inside == -1 and file and library:
            lines[file, line] += count
    if of.undisturbed(share) < BETWEEN or not lines:
        return
    at, _ = lines.most_common(1)[0]
    what = source.line(case.sources, *at) or PurePath(at[0]).name
    advice, spent = _called_per_row(case, at), f"creating a pipeline for each step: {what}"
    fits = of.counted.get((*at, "Model.fit"), (0, 0))[0]
    if advice == "fit" and 0 < fits <= of.iterators / SEVERAL:
        advice, spent = "epochs", f"between epochs, which have few steps: {what}"
    yield _finding(
        case,
        "between-steps",
        at,
        f"{percent(share)} of the time is spent {spent}",
        share,
        advice=advice,
        spent_s=share * gaps.total,
    )


SEVERAL = 4
"""Minimum number of pipelines in a call of fit() that indicates several epochs. One epoch needs at most
two.
"""


def _called_per_row(case: Case, at: tuple[str, int]) -> str:
    """Return the advice key of the Keras method called on that line, or else `between-steps`."""
    written = source.line(case.sources, *at)
    for method in ("predict", "evaluate", "fit"):
        if f".{method}(" in written:
            fed = method == "predict" and fed_back(case.sources, *at)
            return "predict, fed back" if fed else method
    return "between-steps"


# Ops


def doubles(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for float64 ops for which float32 would suffice."""
    rows = [row for row in ops_of(case.of) if row.op not in PYTHON]
    total = sum(row.seconds for row in rows)
    wide = [row for row in rows if row.dtype in ("float64", "complex128")]
    if not total:
        return
    # Ops run on several threads at once, so scale their share of all ops' time by the share of `compute` in
    # the step.
    spent = sum(row.seconds for row in wide) / total * case.of.share("compute")
    if spent < DOUBLE:
        return
    top = largest(wide)
    # float32 needs half the bytes and has twice as many vector lanes, which halves the time. A library's
    # float32 kernels may save three quarters, and a GPU with few float64 units nearly all of it.
    share, most = spent / 2, spent if case.gpus else LEFT_OF_DOUBLES * spent
    yield _finding(
        case,
        "float64",
        (top.file, top.line),
        f"{percent(spent)} of a step is float64 computation ({top.op})",
        share,
        interval=(share, most),
        sizes=matrices(case.of),
    )


def largest(rows: Sequence[Op]) -> Op:
    """Return the op with the most time. Gradient ops count only if there are no other ops."""
    return max(rows, key=lambda row: ("gradient" not in row.name, row.seconds))


def precision(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for float32 matrix products on a GPU with tensor cores."""
    facts, of = case.of.facts, case.of
    if facts is None or not case.gpus or facts.policy.startswith("mixed") or not of.seen:
        return
    capable = [row for row in facts.physical if row[1] == "GPU" and row[3] and tuple(row[3]) >= (7, 0)]
    rows = [row for row in ops_of(of) if row.device.startswith("GPU") and row.dtype == "float32"]
    profiled = of.profiled_step_s
    matrix = [row for row in rows if any(word in row.op for word in _MATRIX)]
    spent = sum(row.seconds for row in matrix) / profiled if profiled else 0.0
    if not capable or spent < 0.4:
        return
    top = largest(matrix)
    yield _finding(
        case,
        "mixed-precision",
        (top.file, top.line) if top.file else case.step_at(),
        f"{percent(min(1.0, spent))} of a step multiplies matrices in float32 on a GPU that has tensor cores",
        spent,
        sizes=batches(of),
    )


def python_called(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for Python code that an op of a step calls."""
    of = case.of
    rows = [row for row in ops_of(of) if row.op in PYTHON] if of.seen else []
    share = of.share(PY_FUNCTION) if rows else 0.0
    if share >= CALLED:
        top = largest(rows)
        text = f"{percent(share)} of a step is Python that {top.op} calls, which no GPU and no XLA speeds up"
        interval = gain_interval(of.typical, PY_FUNCTION)
        yield _finding(case, "python-called", (top.file, top.line), text, share, interval=interval)


def small_ops(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for ops that take longer to launch than to compute."""
    of, key = case.of, case.of.step
    if not of.seen or not isinstance(key, int):
        return
    function = of.functions.get(key)
    # After about ninety runs of a cheap op, the runtime omits it from profiles.
    profiled = max(sum(seen.counts.values()) for _, seen in of.profiled)
    n = max(profiled, float(sum(of.sizes[key].values())))
    spent = of.share("compute")
    step = of.times().median_s or 0.0
    started = of.share(*STARTING)
    idle = of.undisturbed(started)  # ops also start late if other processes use the processors
    interval = _with_small(of, gain_interval(of.typical, *STARTING))
    if function is None or function.xla or n < MANY_OPS or spent * step / n > SMALL_OP_S:
        return
    if any(op == "ReduceDataset" for op, *_ in of.nodes.values()):
        return  # the pipeline's threads launch the ops of a graph's loop over a dataset
    each = (
        f" of {seconds(spent * step / n, spent * step / n / 20)} each" if spent and profiled >= n / 2 else ""
    )
    # A profile counts each pass of a loop and omits cheap ops that ran often; the graph has each op once.
    small = f"{plural(round(n), 'op')} {'ran in a step' if profiled >= n else 'in the graph of a step'}{each}"
    on_gpu = any(part.name.startswith("compute on GPU") for part in of.parts())
    # XLA must save more time over all steps than compiling takes.
    compile_s = sum(of.sizes[key].values()) * COMPILED_OP_S
    saved = started * step - COMPILED_CALL_S
    pays = saved > 0 and saved * of.stepping_s / step > compile_s
    once = ""
    if pays:
        once = f"; XLA compiles them in about {seconds(compile_s, compile_s / 5)}, "
        once += f"which pays off after {math.ceil(compile_s / saved):,} steps at the earliest"
    if on_gpu and idle >= 0.3:
        yield _finding(
            case,
            "launch-bound",
            case.step_at(),
            f"{small}: {percent(started)} of the step is spent launching them{once}",
            started,
            advice="launch-bound" if pays else "launch-bound, few steps",
            interval=interval,
            sizes={"ops": round(n)},
        )
    elif (
        function.own
        and pays
        and idle >= SCHEDULED
        and interval is not None
        and interval[0] >= SCHEDULED - 0.1
    ):
        yield _finding(
            case,
            "xla-off",
            case.step_at(),
            f"{small}: {percent(started)} of a step is spent starting them{once}",
            started,
            interval=interval,
            sizes={"ops": round(n)},
            costs_s=compile_s + COMPILED_CALL_S * of.stepping_s / step,
        )


def small_batches(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for calls of `fit` in which launching a step takes longer than computing it."""
    of = case.of
    if of.kind != "keras" or not of.seen or of.steps.n < MANY_STEPS:
        return
    if any(between(case)) or any(eager(case)) or any(call_sites(case)):
        return  # these findings already explain the launch time
    before, starting = ("python", "dispatch"), of.share("scheduling")
    share = of.share(*before)
    interval, least = gain_interval(of.typical, "python", *STARTING), share_interval(of.typical, *before)
    if of.undisturbed(share + starting) < STARTED or interval is None or interval[0] < STARTED - 0.1:
        return
    assert least is not None
    if source.argument(case.sources, "steps_per_execution")[1]:
        return
    sizes = batches(of)
    why = f": batches of {sizes['batch']:,} are too small to keep the device busy" if "batch" in sizes else ""
    yield _finding(
        case,
        "small-batches",
        case.step_at(),
        f"{percent(share)} of each step is spent in Python and dispatch, {percent(starting)} in scheduling"
        f"{why}",
        share,
        # If one call runs several steps, each step still schedules its ops, but a busy thread pool starts the
        # ops sooner.
        interval=(least[0], interval[1]),
    )


def on_host(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for ops without a GPU kernel in a step that computes on a GPU."""
    of = case.of
    if not case.gpus or not of.seen or not any(p.name.startswith("compute on GPU") for p in of.parts()):
        return
    profiled = of.profiled_step_s
    for row in ops_of(of):
        share = row.seconds / profiled
        kernels = of.kernels.get(row.kind)
        lacks = kernels is not None and (
            "GPU" not in kernels or (bool(kernels["GPU"]) and row.dtype not in kernels["GPU"])
        )
        if row.device == "CPU" and share >= 0.02 and lacks:
            yield _finding(
                case,
                "host-op",
                (row.file, row.line),
                f"{row.op} runs on the CPU: {reason_of(row, of)}; this takes {percent(share)} of "
                "a step and needs two copies",
                share,
            )


# Devices and settings


def devices(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that are hidden, invisible, idle, unused, shared, or nearly out of memory."""
    facts = case.of.facts
    if facts is not None and facts.opened:
        yield from _unseen(case, facts)
        yield from _idle(case)
        yield from _shared(case)
        yield from _full(case, facts)
        yield from _without_cudnn(case)


def _without_cudnn(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for recurrent layers whose settings rule out cuDNN's kernel."""
    if not case.gpus:
        return
    for name, (kind, why) in case.of.recurrent.items():
        settings = [setting.partition("=")[0] for setting in why.split(", ")]
        at = source.call_with(case.sources, kind, settings)
        text = (
            f"{why} prevents the {kind} layer {name} from using cuDNN's kernel: Keras loops over the "
            "steps instead"
        )
        loop = [row for row in ops_of(case.of) if row.layer == name]
        spent = sum(row.seconds for row in loop) / case.of.profiled_step_s if loop else 0.0
        # The layer's ops are small, so cuDNN also saves most of their launch cost.
        share = min(1.0, spent + case.of.share(*STARTING)) if case.of.seen else None
        yield _finding(case, "cudnn-off", at, text, share)


def _unseen(case: Case, facts: Facts) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that the program hides and GPUs that TensorFlow does not see."""
    place, hello = case.place, case.of.hello
    physical = [row[0] for row in facts.physical if row[1] == "GPU"]
    hidden = [name for name in physical if name not in facts.visible]
    if physical and hidden and not case.gpus:
        yield _finding(
            case,
            "gpu-hidden",
            source.call(case.sources, "set_visible_devices"),
            f"the program hides {plural(len(hidden), 'GPU')} from itself",
        )
    elif not physical and (why := _excluded(hello, facts, place.gpus)):
        at = source.text(case.sources, VISIBLE) if VISIBLE in facts.changed else ("", 0)
        yield _finding(case, "gpu-hidden", at, why, advice="gpu-hidden, by a variable")
    elif not physical and place.gpus:
        yield _finding(
            case,
            "no-gpu",
            case.step_at(),
            place.no_gpu or "this machine has a GPU, but TensorFlow sees none",
            change=place.no_gpu_change,
        )


VISIBLE = "CUDA_VISIBLE_DEVICES"


def _excluded(hello: Hello | None, facts: Facts, gpus: int) -> str:
    """Return why CUDA_VISIBLE_DEVICES hides all GPUs from TensorFlow; "" if it does not."""
    if hello is None:
        return ""
    own = VISIBLE in facts.changed
    value = facts.changed[VISIBLE] if own else hello.environment.get(VISIBLE)
    first = (value or "").partition(",")[0].strip()
    text = f"the program sets {VISIBLE} to {value!r}" if own else f"{VISIBLE} is {value!r}"
    if value is None or (not own and not gpus):
        return ""
    if first in ("", "-1"):
        return f"{text}: TensorFlow sees no GPU, on any machine"
    # CUDA stops reading the variable at the first index without a GPU.
    if gpus and first.isdecimal() and int(first) >= gpus:
        return f"{text}: this machine has {plural(gpus, 'GPU')}, numbered from 0, so TensorFlow sees none"
    return ""


def _idle(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that the program opened but did not use in a step."""
    of = case.of
    if not case.gpus or not of.seen:
        return
    busy = {device for _, seen in of.profiled for device in seen.devices}
    unused = [gpu for gpu in case.gpus if gpu not in busy]
    if not any(device.startswith("GPU") for device in busy):
        # A profiler window may miss a GPU's work, so report the GPU only if the host does the computing.
        if of.share("compute") >= IDLE:
            yield _finding(case, "gpu-idle", case.step_at(), f"no part of a step runs on {listed(case.gpus)}")
    elif unused:
        yield _finding(
            case,
            "gpu-unused",
            case.step_at(),
            f"{listed(unused)} computes nothing",
            len(unused) / len(case.gpus),
            sizes=batches(of),
        )


def _shared(case: Case) -> Iterator[Bottleneck]:
    if case.place.others and case.gpus:
        yield _finding(
            case, "gpu-shared", case.step_at(), f"other programs use the GPU: {listed(case.place.others)}"
        )


def _full(case: Case, facts: Facts) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs whose peak memory use was near their capacity."""
    for name, (_, peak) in facts.memory.items():
        short = name.replace("/physical_device:", "")
        whole = case.place.memory.get(short, 0)
        left = 1 - (peak << 24) / whole if whole else 1.0
        if left < _MEMORY_LEFT:
            yield _finding(
                case,
                "memory",
                case.step_at(),
                f"{short} has {percent(max(0.0, left))} of its memory left at peak use",
            )


def settings(case: Case) -> Iterator[Bottleneck]:
    facts = case.of.facts
    if facts is None:
        return
    if facts.numerics:
        yield _finding(
            case,
            "numerics-check",
            source.call(case.sources, "enable_check_numerics"),
            "tf.debugging.enable_check_numerics() checks every tensor for NaN",
        )
    if facts.determinism:
        yield _finding(
            case,
            "determinism",
            source.call(case.sources, "enable_op_determinism"),
            "tf.config.experimental.enable_op_determinism(): slower kernels and a sequential pipeline",
        )


LOOKS: tuple[Callable[[Case], Iterator[Bottleneck]], ...] = (
    call_sites,
    rebuilding,
    saving,
    slowing,
    waiting,
    tracing,
    eager,
    model_calls,
    reading,
    feeding,
    between,
    doubles,
    precision,
    python_called,
    small_ops,
    small_batches,
    on_host,
    devices,
    settings,
)
