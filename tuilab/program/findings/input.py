"""Findings about the input: steps that wait for it, and pipelines that compete with them. Pure functions."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Literal

from tuilab.analysis.words import percent
from tuilab.model.ops import PYTHON
from tuilab.model.program import Bottleneck, Code, Dataset, Stage
from tuilab.model.quantity import seconds
from tuilab.program.case import Case
from tuilab.program.findings.common import (
    LEAST,
    batches,
    finding,
    iterators,
    kind_of,
    largest_wait,
    pipeline,
    validates_with,
    waited_in_validation,
    waiting_share,
)
from tuilab.program.fold import INPUT, Process, total_seconds
from tuilab.program.gains import NEGLIGIBLE, OF_INPUT, SAVES_WAITING
from tuilab.program.sites import LARGE, METHODS, large_parts, sites_of
from tuilab.program.source import place

WAITING = 0.15
FULL = 0.8
"""A program that uses at least this share of its processors is assumed to need all of them."""
LEAST_BESIDE = 0.005


def waiting_elsewhere(case: Case, found: Collection[Bottleneck]) -> Iterator[Bottleneck]:
    """Yield a finding for lines that wait for input outside of the steps, such as the loop of a training
    whose steps take less time than those of the evaluation. Leaves out the lines of other findings.
    """
    if case.of.kind in ("batch", "") or any(each.code in OF_INPUT for each in found):
        return
    in_steps = waiting_share(case)[0] * case.of.stepping_s
    every = sum(took for (kind, *_), took in case.of.spent.items() if kind == "input")
    # Keras calls in a loop build a pipeline each; it is not their input that is slow.
    called = {site.at for site in sites_of(case) if site.call in METHODS and site.loop[1]}
    explained = {each.at for each in found}
    stages = (stage for dataset in case.of.datasets for stage in dataset.stages)
    python = any(PYTHON & set(stage.ops) for stage in stages)
    of_steps, _ = largest_wait(case)
    for part in large_parts(case, ("input",), explained | called):
        own = in_steps if part.at == of_steps else 0.0
        spent = min(part.seconds - own, every - in_steps)
        if spent >= LARGE * case.lasted_s:
            text = f"waiting for input outside the steps described here takes {seconds(spent)}"
            text += "; a pipeline of the program runs Python" * python
            advice = "input-elsewhere, python" if python else "input-elsewhere"
            yield finding(case, "input-elsewhere", part.at, text, advice=advice, spent_s=spent)


def validating(case: Case, found: Collection[Bottleneck]) -> Iterator[Bottleneck]:
    """Yield a finding for a validation of `fit` that waits for its input.

    A finding about the wait of the steps includes that of a validation with the same pipeline.
    """
    dataset, (spent, most) = validates_with(case), waited_in_validation(case)
    included = dataset is None and any(each.code in SAVES_WAITING for each in found)
    if spent < LARGE * case.lasted_s or included:
        return
    datasets = [dataset] if dataset is not None else case.of.datasets
    own = [stage for each in datasets for stage in each.stages if stage.own]
    python = [stage for stage in own if (PYTHON | {"GeneratorDataset"}) & set(stage.ops)]
    at = next(((stage.file, stage.line) for stage in python or own), case.step_at())
    advice = "input-elsewhere, python" if python else "input-elsewhere"
    text = f"the validation waits {seconds(spent)} for its input"
    yield finding(case, "input-elsewhere", at, text, advice=advice, spent_s=spent, most_s=most)


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
        and kind in ("", kind_of(path.rpartition("::")[2]))
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


def is_serial(case: Case) -> bool:
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
    kinds = [kind_of(part) for part in path.split("::")]
    if kinds[-1] == "Generator":
        return next((stage for stage in dataset.stages if "GeneratorDataset" in stage.ops), None)
    stages = [stage for stage in dataset.stages if kind_of(stage.stage) == kinds[-1]]
    # If several stages have this kind, choose the one at the same position among them.
    return stages[min(kinds.count(kinds[-1]), len(stages)) - 1] if stages else None


def _without(case: Case, stage: Stage | None, share: float) -> float:
    """Return the share of a step that is saved if a stage of the pipeline takes no time.

    The other stages take as long as before, and may still make the step wait. share: share of a step spent
    waiting for input. Assumes that the stage causes all of it if the pipeline has parallel stages.
    """
    fed, spent = pipeline(case.of), _spent(case.of)
    if fed is None or stage is None or not is_serial(case):
        return share
    parts: dict[int, float] = defaultdict(float)
    for path, value in spent.items():
        parts[path.count("Prefetch")] += value  # a prefetched part works in a thread of its own
    whole = max(parts.values(), default=0.0)
    for path, value in spent.items():
        if _stage_at(path, fed) is stage:
            parts[path.count("Prefetch")] -= value
    return min(share, 1 - max(parts.values()) / whole) if whole else share


def waiting(case: Case) -> Iterator[Bottleneck]:
    share, interval = waiting_share(case)
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
    yield finding(
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
    stages = [stage for stage in (fed.stages if fed else ()) if stage.own and kind_of(stage.stage) == "Map"]
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
    text = f"{percent(share)} of each step ({seconds(share * step)}) is input wait"
    if stage is not None:
        text += f"; {'a Python generator' if kind == 'generator' else _shown(stage)} is slowest"
        text += ", although it runs in parallel" if parallel else ""
    if (stage is None or kind == "generator") and case.of.makers:
        (file, line, name), _ = case.of.makers.most_common(1)[0]
        text += f"; its batches are created in {name} ({place(file, line)})"
    validation, _ = waited_in_validation(case)
    if validation >= NEGLIGIBLE * case.lasted_s and validates_with(case) is None:
        text += f"; the validation waits for it too ({seconds(validation)})"
    if beside >= LEAST_BESIDE:
        text += f"; input work that no step waits for takes up to {percent(beside)} of the processors"
    useless = parallel or kind == "python" or case.of.in_parallel(1.0) < NEGLIGIBLE
    advice = "input-bound, in parallel" if useless else "input-bound"
    if stage is None and case.of.kind == "keras" and case.of.makers:
        (_, _, name), _ = case.of.makers.most_common(1)[0]
        advice = "input-bound, PyDataset" if name == "__getitem__" else advice
    if kind == "generator":
        advice = "input-bound, generator"
    elif _is_cached(case, stage):
        advice = "input-bound, cached"
    at = (stage.file, stage.line) if stage else case.step_at()
    sizes = batches(case.of)
    return finding(case, "input-bound", at, text, saved, advice=advice, interval=interval, sizes=sizes)


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
    yield finding(
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
    return finding(
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
