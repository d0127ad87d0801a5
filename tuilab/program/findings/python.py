"""Findings about Python code between the steps or instead of a graph. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from pathlib import PurePath

from msgspec.structs import replace

from tuilab.analysis.words import percent
from tuilab.model.account import PY_FUNCTION
from tuilab.model.program import AccountKind, Bottleneck
from tuilab.model.quantity import plural, seconds
from tuilab.model.quantity import size as bytes_of
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.effects import fed_back
from tuilab.program.findings.common import BETWEEN, LEAST, finding, prepared_s, with_small
from tuilab.program.fold import CALLBACK, STARTING, Gaps, gain_interval
from tuilab.program.gains import NEGLIGIBLE
from tuilab.program.sites import METHODS, large_parts, sites_of

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
SINGLES, FEW_OPS = 0.2, 3
"""Individual ops are reported if launching them takes at least this share of a step, and if there are at
least this many per step.
"""
MOSTLY = 0.8
"""Typical steps contain a line's time if their Python code takes at least this share of it."""
LOOPING = 0.3
"""The iterations of a loop of ops count as steps if the loop takes at least this share of the program's
time.
"""
SLOWER = 1.5
"""A slowdown is reported if the last steps take at least this many times as long as the first steps."""
SEVERAL = 4
"""Minimum number of pipelines in a call of fit() that indicates several epochs. One epoch needs at most
two.
"""


def sleeping(case: Case, found: Collection[Bottleneck]) -> Iterator[Bottleneck]:
    """Yield a finding for lines that wait for something other than TensorFlow, such as a sleep in a step of
    individual ops. Leaves out the lines of other findings.
    """
    # A pipeline may prepare batches meanwhile, for which the steps would otherwise wait.
    prepares = bool(case.of.datasets and prepared_s(case))
    for part in large_parts(case, ("waiting",), {each.at for each in found}):
        where = f" in {part.function}()" if part.function else ""
        text = f"waiting for something other than TensorFlow{where} takes {seconds(part.seconds)}"
        sleep = finding(
            case, "between-steps", part.at, text, advice="between-steps, waiting", spent_s=part.seconds
        )
        yield replace(sleep, if_input_keeps_up=prepares)


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
    yield finding(case, "slowing", case.step_at(), text, spent_s=lost)


def eager(case: Case) -> Iterator[Bottleneck]:
    of, key = case.of, case.of.step
    facts = of.facts
    if facts is not None and facts.eager_functions:
        share, interval = _overhead(case)
        yield finding(
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
    yield finding(case, "eager-step", at, text, share, advice=advice, interval=interval)


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
    yield finding(case, "eager-step", case.ops_at(), text, share, advice=advice, interval=interval)


def _overhead(case: Case) -> tuple[float | None, tuple[float, float] | None]:
    """Return the share of Python and dispatch in a step that runs op by op, and its interval.

    Both exclude the time for which the loop of the ops sleeps, because a graph would not save it. The share
    and the lower end also exclude its Python code that starts no ops, such as preparing data with NumPy.
    """
    if not case.of.seen:
        return None, None
    names = ("python", *STARTING)
    asleep, python = asleep_share(case), _share_of_steps(case, _looped(case, "python"))
    share, interval = case.of.share(*names), with_small(case.of, gain_interval(case.of.typical, *names))
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


def reading(case: Case) -> Iterator[Bottleneck]:
    of = case.of
    steps, times_ = of.steps.n, of.times()
    if steps < LEAST or not times_.median_s:
        return
    for (file, line), (n, took) in of.reads.items():
        share = took / (times_.median_s * steps)
        if of.seen:  # a read also waits for pending work, which takes that time anyway
            share = min(share, 1 - of.share("compute", PY_FUNCTION))
        if n >= steps * READING_EACH and share >= READING:
            yield finding(
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
        yield finding(case, "numpy-fed", at, text, share, interval=interval)


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
        yield finding(
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
    reads = sum(took for _, took in of.reads.values()) * of.steps.kept
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
        quickest = 0.0 if prepared_s(case) else 1 - gaps.least / gaps.total
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
        yield finding(case, "between-steps", at, text, advice=advice, spent_s=spent)
        return
    if named < share:
        interval = named, max(share, interval[1] if interval else 0.0)
    late = of.share(*STARTING)
    more = (
        (f"; starting ops ({percent(late)} of a step) may also become faster if this time is saved")
        if late >= BETWEEN
        else ""
    )
    yield finding(
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
    yield finding(
        case,
        "between-steps",
        at,
        f"{percent(share)} of the time is spent {spent}",
        share,
        advice=advice,
        spent_s=share * gaps.total,
    )


def _called_per_row(case: Case, at: tuple[str, int]) -> str:
    """Return the advice key of the Keras method called on that line, or else `between-steps`."""
    written = source.line(case.sources, *at)
    for method in ("predict", "evaluate", "fit"):
        if f".{method}(" in written:
            fed = method == "predict" and fed_back(case.sources, *at)
            return "predict, fed back" if fed else method
    return "between-steps"
