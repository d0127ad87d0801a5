import msgspec
import pytest

from tests.tui.watched import events, seen
from tuilab.model.program import (
    Bottleneck,
    Dataset,
    Function,
    Hello,
    Stage,
    Steps,
    StepTimes,
    Traces,
    Tried,
    Window,
)
from tuilab.model.quantity import seconds
from tuilab.presentation.program import gain, saves
from tuilab.program.case import Beside, Case
from tuilab.program.findings import findings
from tuilab.program.findings.common import pipeline
from tuilab.program.fold import INPUT, Calls, Process
from tuilab.program.gains import at_most, expected_gain, limited_by_input, most_saved, with_trial
from tuilab.program.window import Seen
from tuilab.report.program import gained, measured


def profile(process: Process, steps: list[dict[str, float]], stages: dict[str, float] | None = None) -> Seen:
    """Add a profiler window with these seconds of each step by part, and of each step by iterator."""
    window = seen()
    window.steps, window.stages = steps, window.stages if stages is None else stages
    process.windows.append((Window(start=2.0, end=3.0, steps=len(steps)), window))
    return window


def of_fit(processors: int = 0) -> Process:
    process = Process()
    for told in events():
        process.apply(
            msgspec.structs.replace(told, processors=processors) if isinstance(told, Hello) else told
        )
    return process


def fit(processors: int, on: str = "compute on CPU") -> Process:
    """Return a `fit` that waits 30% of the time, while its map works 80% of the time."""
    process = of_fit(processors)
    stages = {"Root::Prefetch": 0.1, "Root::Prefetch::Batch": 0.002, "Root::Prefetch::Batch::Map": 0.078}
    profile(process, [{"waiting for input": 0.030, on: 0.065, "python": 0.005}] * 12, stages)
    return process


def by_code(process: Process, lasted_s: float = 0.0) -> dict[str, Bottleneck]:
    every = findings(Case(process, {}, Beside(), lasted_s))
    found = {each.code: each for each in every}
    assert len(found) == len(every)
    return found


def found(processors: int, on: str = "compute on CPU") -> dict[str, Bottleneck]:
    return by_code(fit(processors, on))


def test_the_processor_time_of_the_pipeline_raises_only_the_maximum() -> None:
    for code in ("input-bound", "python-in-map"):
        of = found(16)[code]
        assert of.share == pytest.approx(0.3) and of.gain_at_most == pytest.approx(1 / (1 - 0.3))
        assert of.gain_ci95 == pytest.approx((1 / (1 - 0.3), 1 / (1 - 0.3 - (0.8 - 0.3) / 16)))
    assert "3.1% of the processors" in found(16)["input-bound"].message


def test_a_step_on_a_gpu_can_gain_its_waiting_time() -> None:
    for of in (found(16, "compute on GPU")["input-bound"], found(0)["input-bound"]):
        assert of.gain_at_most == pytest.approx(1 / (1 - 0.3)) and "processors" not in of.message


@pytest.mark.parametrize(("cpu_s", "told"), [(11.6, True), (5.8, False)])
def test_python_in_a_map_is_reported_if_it_takes_processors_from_the_step(cpu_s: float, told: bool) -> None:
    """A map that only sleeps is not reported, because a prefetch hides its time."""
    process = of_fit(2)
    process.apply(
        Steps(now=process.last + 5.8, cpu=cpu_s, calls=((0, process.last, process.last + 0.1, False),))
    )
    stages = {"Root::Prefetch": 0.1, "Root::Prefetch::Batch::Map": 0.09}
    profile(process, [{"waiting for input": 0.005, "compute on CPU": 0.095}] * 12, stages)
    found = by_code(process)
    assert ("python-in-map" in found) is told and "input-bound" not in found
    if told:
        assert found["python-in-map"].gain_at_most == pytest.approx(1 / (1 - 0.05 - (0.9 - 0.05) / 2))


def map_in_turn(cpu_s: float, delayed: float = 0.0) -> Bottleneck | None:
    """Return the finding about a map that prepares one element at a time, for which 50% of each step waits.
    The program's steps last 5.8 s on two processors.
    """
    process = Process()
    for message in events():
        if isinstance(message, Hello):
            message = msgspec.structs.replace(message, processors=2)
        if isinstance(message, Dataset):
            batch, mapped = message.stages
            message = msgspec.structs.replace(
                message, stages=(batch, msgspec.structs.replace(mapped, ops=()))
            )
        process.apply(message)
    calls = ((0, process.last, process.last + 0.1, False),)
    process.apply(Steps(now=process.last + 5.8, cpu=cpu_s, delayed=delayed, calls=calls))
    stages = {"Root::Batch": 0.002, "Root::Batch::Map": 0.048}
    profile(process, [{"waiting for input": 0.05, "compute on CPU": 0.05}] * 40, stages)
    return by_code(process).get("serial-map")


def test_work_in_parallel_needs_processors_that_are_free() -> None:
    """Spread over two processors, steps that use 1.4 of them cannot become shorter than 70%."""
    free, used, starved = map_in_turn(2.9), map_in_turn(8.12), map_in_turn(8.12, delayed=1.0)
    assert free is not None and free.gain_at_most == pytest.approx(2.0)
    assert used is not None and used.gain_at_most == pytest.approx(1 / 0.7)
    assert starved is not None and starved.gain_at_most is not None and 1 < starved.gain_at_most < 1 / 0.7
    assert map_in_turn(11.5) is None


def test_time_of_retraced_calls_can_be_gained_too() -> None:
    """Each of 20 Python numbers causes a trace of 0.1 s. The first call after each trace takes 50 ms, and the
    next nine take 10 ms each.

    After the fix, one trace remains, which may take only 60 ms in another process.
    """
    process, calls, at = Process(), [], 2.0
    for _ in range(20):
        for length in (0.1, 0.05, *[0.01] * 9):
            calls.append((0, at, at + length, length == 0.1))
            at += length
    rates = tuple((0.1, [["number", str(n), "float"]]) for n in range(20))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True))
    process.apply(Traces(number=0, traces=rates))
    process.apply(Steps(now=at, calls=tuple(calls)))
    of = by_code(process)["retraced"]
    total = at - 2.0
    assert of.gain_at_most == pytest.approx(total / (total - 18 * 0.1))
    assert of.gain_ci95 is not None
    assert of.gain_ci95[1] == pytest.approx(total / (total - 19 * 0.1 - 0.04 - 20 * 0.04))


def test_profiling_does_not_reduce_the_time_between_calls() -> None:
    """The step takes 1 ms, or 2 ms when profiled, and the callback 5 ms."""
    process = Process()
    calls = tuple((0, 2.0 + n * 0.006, 2.001 + n * 0.006, False) for n in range(200))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True, caller=("train.py", 9)))
    process.apply(Steps(now=3.2, calls=calls, samples=(("train.py", 12, "on_train_batch_end", "", -1, 20),)))
    profile(process, [{"python": 0.005, "compute on CPU": 0.002}] * 12)
    of = by_code(process)["between-steps"]
    assert of.gain_at_most == pytest.approx(7 / 2)
    assert of.gain_ci95 is not None and of.gain_ci95[1] == pytest.approx(6 / 1, rel=0.01)


def test_ops_after_a_pause_may_start_sooner_without_it() -> None:
    """The step takes 2 ms, of which launching ops takes 1.5 ms. During the callback of 5 ms before each step,
    the threads that run these ops fall asleep and must be woken.
    """
    process = Process()
    calls = tuple((0, 2.0 + n * 0.007, 2.002 + n * 0.007, False) for n in range(200))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True, caller=("train.py", 9)))
    process.apply(Steps(now=3.5, calls=calls, samples=(("train.py", 12, "on_train_batch_end", "", -1, 20),)))
    profile(
        process, [{"python": 0.005, "dispatch": 0.001, "scheduling": 0.0005, "compute on CPU": 0.0005}] * 12
    )
    of = by_code(process)["between-steps"]
    assert of.gain_at_most == pytest.approx(7 / 2, rel=0.01)
    assert of.gain_ci95 is not None and of.gain_ci95[1] == pytest.approx(7 / 0.5, rel=0.01)
    assert "starting ops (21% of a step) may also become faster" in of.message


@pytest.mark.parametrize("outer", ["Batch", "MapAndBatch"])
def test_gains_of_the_same_time_say_so_and_follow_each_other(outer: str) -> None:
    """Together, fixing the Python code in the map and adding a prefetch save no more than the whole wait."""
    process, stages = of_fit(), {f"Root::{outer}": 0.001, f"Root::{outer}::Map": 0.03}
    profile(process, [{"waiting for input": 0.030, "compute on CPU": 0.065, "python": 0.005}] * 12, stages)
    first, *parts = (each for each in findings(Case(process, {}, Beside())) if each.code != "retraced")
    assert first.code == "input-bound" and first.part_of is None and "parallel" not in first.remedy
    ahead = outer == "MapAndBatch"  # it prepares the next batch during the step
    assert [each.code for each in parts] == ["python-in-map", *["no-prefetch"] * (not ahead)]
    assert parts[0].message.endswith(", one at a time") and "num_parallel_calls" in parts[0].remedy
    for each in parts:
        assert each.part_of == "input-bound"
        assert gained(each).endswith("×, part of input-bound")
    gains = [gain(each, [first, *parts]) for each in (first, *parts)]
    assert gains == ["1.43×", *["the same"] * len(parts)]
    assert "the same" not in gain(parts[0], parts)  # the finding with the same gain is not in the list


def eager_step(
    waits: float,
    stages: tuple[str, ...] = ("Root::Prefetch", "Root::Prefetch::Batch"),
    beside: float = 0.0,
) -> Case:
    """Return a program whose step of 34 ms runs eagerly.

    waits: share of the step spent waiting for input. beside: share during which other threads prepare input.
    """
    process, at = Process(), ("train.py", 14)
    calls = tuple((at, 2.0 + n * 0.034, 2.034 + n * 0.034 - 0.034 * waits, False) for n in range(200))
    waited = tuple((2.034 + n * 0.034 - 0.034 * waits, 0.034 * waits) for n in range(200))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Steps(now=9.0, calls=calls, waits=waited, tapes=((*at, 200, False),)))
    left = 0.034 * (1 - waits)
    steps = [
        {"waiting for input": 0.034 * waits, "python": 0.96 * left, "compute on CPU": share * left}
        for share in (0.01, 0.04, 0.07) * 4
    ]
    window = profile(process, steps, dict.fromkeys(stages, 0.034))
    window.preparing, window.ops = 0.034 * beside, {}
    return Case(process, {}, Beside(), 10.0)


def of_eager_step(case: Case) -> Bottleneck:
    (of,) = (each for each in findings(case) if each.code == "eager-step")
    return of


def test_a_faster_step_may_only_wait_longer_for_its_input() -> None:
    of = of_eager_step(eager_step(0.5))
    most = at_most(of)
    assert of.if_input_keeps_up and expected_gain(of) is None
    assert most is not None and most.step is not None and 1.8 < most.step <= 2.0
    assert gain(of, []) == f"{most.step:.2f}×"
    assert "about" not in gained(of) and gained(of).startswith("saves up to ")
    assert gained(of).endswith(f"the step by up to {most.step:.2f}×, if the input keeps up")
    assert saves(of).startswith("≤ ") and of.remedy.startswith("make the input faster first (input-bound), ")


def test_a_negligible_wait_keeps_the_estimate() -> None:
    of = of_eager_step(eager_step(0.04))
    assert not of.if_input_keeps_up and expected_gain(of)
    assert gained(of).startswith("saves about ") and "input" not in gained(of) + of.remedy


def test_a_step_faster_than_its_hidden_input_may_wait_for_it() -> None:
    """A graph would take about 4% of this step."""
    hidden, short = of_eager_step(eager_step(0.01, beside=0.5)), of_eager_step(eager_step(0.01, beside=0.02))
    assert hidden.if_input_keeps_up and gained(hidden).startswith("saves up to ")
    assert hidden.message.endswith("; the input pipeline works for 17.0 ms per batch on other threads")
    assert not short.if_input_keeps_up and "pipeline" not in short.message


def test_no_step_takes_less_time_than_its_input_unless_the_input_is_parallel() -> None:
    """A graph would take about 4% of this step, and its serial input takes 50%."""
    serial, parallel, merged = (
        of_eager_step(eager_step(0.01, ("Root::Prefetch", f"Root::Prefetch::{kind}"), beside=0.5))
        for kind in ("Map", "ParallelMapV2", "MapAndBatch")
    )
    now, later = at_most(serial), at_most(parallel)
    assert at_most(merged) == later
    assert now is not None and now.step == pytest.approx(2.0, rel=0.02)
    assert later is not None and later.step is not None and later.step > 10
    assert serial.saves_later_s == most_saved(parallel) and parallel.saves_later_s is None
    saved = f"and saves up to {seconds(most_saved(parallel))} once the input is faster"
    assert gained(serial).endswith(f"×, while the input stays as it is, {saved}")


def generator(**spent: float) -> dict[str, Bottleneck]:
    """Return the findings for a `fit` that waits 60% of the time for a generator and a map in Python.

    spent: seconds per step of the pipeline's stages; those that make batches wait for their inputs.
    """
    process = Process()
    for told in events():
        if isinstance(told, Dataset):
            kinds = [
                ("Prefetch", ()),
                ("Batch", ()),
                ("Map", ("EagerPyFunc",)),
                ("FlatMap", ("GeneratorDataset",)),
            ]
            stages = [
                Stage(stage=kind, ops=ops, own=True, file="train.py", line=n)
                for n, (kind, ops) in enumerate(kinds)
            ]
            told = msgspec.structs.replace(told, stages=tuple(stages))
        process.apply(told)
    merged, path = "Root::Prefetch::MapAndBatch", "Root::Prefetch::MapAndBatch::FlatMap"
    stages = {merged: sum(spent.values()), path: 0.0, f"{path}[0]::Generator": spent["made"]}
    profile(process, [{"waiting for input": 0.060, "compute on GPU": 0.040}] * 12, stages)
    return by_code(process)


def test_each_stage_of_a_serial_pipeline_saves_its_own_part() -> None:
    found = generator(made=0.070, mapped=0.030)
    assert found["input-bound"].line == 3 and "a Python generator is slowest" in found["input-bound"].message
    assert found["input-bound"].share == pytest.approx(0.6)
    assert found["python-in-map"].line == 2 and found["python-in-map"].share == pytest.approx(0.3)
    found = generator(made=0.030, mapped=0.070)
    assert found["input-bound"].line == 2 and ".map is slowest" in found["input-bound"].message


def test_a_pipeline_that_prepares_nothing_during_the_step_keeps_the_estimate_but_not_its_wait() -> None:
    of = of_eager_step(eager_step(0.5, ("Root::Batch", "Root::Batch::Generator")))
    most = at_most(of)
    assert not of.if_input_keeps_up and gained(of).startswith("saves about ")
    assert most is not None and most.step is not None and most.step <= 2.0


def test_a_saving_beyond_the_wait_is_reduced_for_the_step_and_the_program() -> None:
    """A finding claims to save 80% of a step that waits half of the time. The steps take all of the program's
    time.
    """
    claimed = Bottleneck(
        code="read-each-step", message="", share=0.8, gain_at_most=5.0, gain_ci95=(4.0, 100.0),
        program_share=0.8, saves_s=8.0,
    )  # fmt: skip
    of = limited_by_input(claimed, 0.5, None)
    assert (of.share, of.gain_at_most, of.gain_ci95) == (0.5, 2.0, (2.0, 2.0))
    assert (of.program_share, of.saves_s) == (pytest.approx(0.5), pytest.approx(5.0))
    waiting = msgspec.structs.replace(claimed, code="input-bound")
    assert limited_by_input(waiting, 0.5, 0.9) == waiting


def test_a_wait_of_the_loop_outside_its_steps_is_saved_with_the_wait_of_the_steps() -> None:
    """The loop waits for 3.4 s in its steps, and for 1.5 s in the iterator's last call. The program takes 10
    s.
    """
    inside, both, other = eager_step(0.5), eager_step(0.5), eager_step(0.5)
    for case, line, took in ((inside, 14, 3.4), (both, 14, 4.9), (other, 14, 3.4), (other, 30, 1.5)):
        case.of.spent["input", (("train.py", line),), "", ""] += took
    saved = [next(f for f in findings(case) if f.code == "input-bound") for case in (inside, both, other)]
    assert saved[1].saves_s == pytest.approx((saved[0].saves_s or 0.0) + 1.5, abs=0.02)
    assert saved[2].saves_s == saved[0].saves_s, "validation, say: another loop waits there"
    most = [at_most(each) for each in saved[:2]]
    assert most[0] is not None and most[1] is not None and most[0].step == most[1].step
    assert (most[1].program or 0.0) >= (expected_gain(saved[1]) or 0.0) > (most[0].program or 0.0)


def test_a_trial_promises_the_program_nothing_if_the_input_may_set_the_pace() -> None:
    of = of_eager_step(eager_step(0.5))
    tried = with_trial(of, Tried(step=1.84, said="the step as a graph"), 10.0)
    assert tried.tried is not None and tried.tried.if_input_keeps_up
    assert measured(tried.tried).startswith("measured: 1.84× for the step, at most 1.")
    assert "for the program, and no speedup if the input sets the pace: the step as" in measured(tried.tried)
    assert gained(tried).startswith("saves up to ")
    slower = with_trial(of, Tried(step=0.8, said=""), 10.0).tried
    assert slower is not None and not slower.if_input_keeps_up


def test_steps_that_trace_are_weighed_as_often_as_the_program_traces() -> None:
    """Of 12 profiled steps, 8 trace; of all 200 steps, every twentieth or every one does."""
    for traces in (10, 200):
        process = Process()
        calls = tuple((0, 2.0 + n * 0.02, 2.01 + n * 0.02, False) for n in range(200))
        process.apply(Hello(pid=7, parent=1, now=1.0))
        process.apply(Function(number=0, name="step", file="train.py", line=3, own=True))
        process.apply(Traces(number=0, traces=((0.01, None),) * traces))
        process.apply(Steps(now=9.0, calls=calls))
        some = [{"tracing and compiling": 0.09, "compute on CPU": 0.01}] * 8
        profile(process, some + [{"compute on CPU": 0.01}] * 4)
        share = process.share("tracing")
        assert share == pytest.approx(0.0 if traces == 10 else 0.72 / 0.84)


def test_waiting_outside_the_steps_that_a_fix_may_end_raises_only_the_programs_maximum() -> None:
    of = of_eager_step(eager_step(0.01))
    more = msgspec.structs.replace(of, beyond=0.1)
    before, after = at_most(of), at_most(more)
    assert before and after and before.program and after.program
    assert (after.step, expected_gain(more)) == (before.step, expected_gain(of))
    assert 1 / after.program == pytest.approx(1 / before.program - 0.1)


def test_the_pipeline_of_training_is_not_that_of_validation() -> None:
    def chain(line: int, *stages: str) -> Dataset:
        return Dataset(stages=tuple(Stage(stage=name, file="train.py", line=line) for name in stages))

    train, alike = chain(1, "Batch", "Map", "Shuffle", "Range"), chain(2, "Batch", "Map", "Shuffle", "Range")
    short, window = chain(3, "Batch", "Range"), seen()
    window.stages = {"Root::MapAndBatch": 0.1, "Root::MapAndBatch::Shuffle::Range": 0.01}
    of = Process(datasets=[train, short, train, short])
    of.windows.append((Window(start=2.0, end=3.0, steps=12), window))
    assert pipeline(of) is train, "its stages are those in the profile"
    of.datasets = [train, alike, train, alike]
    assert pipeline(of) is train, "it was used first"
    of.datasets = [train, train, alike, alike]
    assert pipeline(of) is alike, "a later training uses another dataset"


@pytest.mark.parametrize("cached", [False, True])
def test_a_wait_of_the_first_pass_counts_for_the_steps_that_have_it(cached: bool) -> None:
    """The first 50 of 200 steps wait 30 ms each, and the profiler saw only these."""
    process, at = Process(), 1.0
    stages = [Stage(stage="Cache", ops=(), own=True, file="train.py", line=8)] * cached
    stages.append(Stage(stage="Map", ops=(), own=True, file="train.py", line=7))
    process.apply(Hello(pid=7, parent=1, now=1.0))
    process.apply(Function(number=0, name="step", file="train.py", line=3, own=True))
    process.apply(Dataset(stages=tuple(stages)))
    calls, waits = [], []
    for n in range(200):
        waited = 0.030 if n < 50 else 0.0001
        waits.append((at, waited))
        calls.append((0, at + waited, at + waited + 0.010, False))
        at += waited + 0.010
    process.apply(Steps(now=at, calls=tuple(calls), waits=tuple(waits)))
    profile(process, [{INPUT: 0.030, "compute on CPU": 0.010}] * 12, {"Root::Map": 0.030})
    of = by_code(process, at - 1.0)["input-bound"]
    assert of.saves_s == pytest.approx(50 * 0.030, rel=0.1)
    assert of.share == pytest.approx(1.515 / 3.5, rel=0.1)
    assert ("later passes over the data hardly wait" in of.remedy) is cached


def test_the_validation_of_fit_waits_for_the_pipeline_that_it_shares() -> None:
    """10 calls of the validation take 1 s, half of which they wait if a profiler window shows it."""

    def found(shared: bool, profiled: bool = True, validates: bool = True) -> dict[str, Bottleneck]:
        process = fit(2)
        assert isinstance(process.step, int)
        usual = process.functions[process.step]
        if validates:
            process.functions[99] = msgspec.structs.replace(usual, number=99)
            process.calls[99] = Calls()
            for at in range(10):
                process.calls[99].add(at, at + 0.1, traced=False)
        process.sizes[process.step]["graph"], process.sizes[99]["graph"] = 100, 40
        if not shared:
            other = Stage(stage="Batch", file="validate.py", line=1, own=True)
            process.apply(Dataset(stages=(other,)))
        window, waits = process.windows[0][0], seen()
        process.windows[0] = msgspec.structs.replace(window, step=process.step), process.windows[0][1]
        waits.steps = [{"waiting for input": 0.05, "compute on CPU": 0.05}] * 4
        if profiled:
            process.windows.append((msgspec.structs.replace(window, step=99), waits))
        return by_code(process, 4.0)

    alone, shared, apart = found(True, validates=False), found(True), found(False)
    bound = [each["input-bound"] for each in (alone, shared, apart)]
    assert ["validation" in each.message for each in bound] == [False, True, False]
    assert bound[1].saves_s == pytest.approx((bound[0].saves_s or 0.0) + 0.5)
    assert bound[0].saves_s == pytest.approx(bound[2].saves_s) and "input-elsewhere" not in shared
    own = apart["input-elsewhere"]
    assert (own.file, own.line, own.saves_s) == ("validate.py", 1, pytest.approx(0.5))
    assert "keeps up" not in gained(own) and most_saved(own) >= 0.99
    unknown = found(True, profiled=False)["input-bound"]
    assert unknown.saves_s == bound[0].saves_s and most_saved(unknown) >= (bound[0].saves_s or 0.0) + 0.99


def test_a_trial_does_not_shorten_what_only_some_steps_contain() -> None:
    """Steps of 50 ms take 5 s; with a validation in some of them, 8 s of 10 s."""
    of = Bottleneck(
        code="eager-step", message="", share=0.9, gain_at_most=10.0, program_share=0.72, saves_s=7.2
    )
    steps = StepTimes(n=100, median_s=0.05, kind="eager", total_s=8.0)
    tried = with_trial(of, Tried(step=20.0, said="as a graph"), 10.0, steps)
    assert tried.saves_s == pytest.approx(5 * 19 / 20)


def test_of_the_functions_of_a_fit_the_one_that_computes_gradients_is_the_step() -> None:
    """The validation takes most of the time, and each has a profiler window."""
    process, test = fit(2), 99
    assert isinstance(process.step, int)
    train, usual = process.step, process.functions[process.step]
    process.functions[test] = msgspec.structs.replace(usual, number=test)
    process.calls[test] = Calls()
    for at in range(100):
        process.calls[test].add(at * 10.0, at * 10.0 + 9.0, traced=False)
    assert process.step == test, "without known graphs, the function with the most time"
    process.sizes[train]["graph"], process.sizes[test]["graph"] = 100, 40
    window = process.windows[0]
    process.windows[0] = (msgspec.structs.replace(window[0], step=train), window[1])
    process.windows.append((msgspec.structs.replace(window[0], step=test), seen()))
    assert process.step == train and process.profiled == process.windows[:1]


def test_the_first_batch_of_an_epoch_raises_the_maximum_of_an_input_bound_fit() -> None:
    """The graph waits for 1 s in one of its calls; the other calls take up to 0.1 s."""
    most = []
    for longer in (0.0, 1.0):
        process = fit(2)
        calls = process.steps
        usual = calls.ends[-1] - calls.starts[-1]
        calls.add(calls.ends[-1], calls.ends[-1] + usual + longer, traced=False)
        found = by_code(process, 10.0)["input-bound"]
        most.append(most_saved(found))
    assert 0.5 < most[1] - most[0] <= 1.0
