import msgspec
import pytest

from tests.tui.watched import events, seen
from tuilab.model.program import AccountRow, Facts, Kernels, Page, StepTimes, Window
from tuilab.presentation.program import account_kinds, chart, status, why_empty
from tuilab.profile.classify import Key
from tuilab.program.case import Beside
from tuilab.program.fold import Process
from tuilab.program.graph import LayerNames, ops_of
from tuilab.program.page import page_of
from tuilab.report.program import page_text, step_time

GPU = Facts(
    opened=True,
    physical=(("/physical_device:GPU:0", "GPU", "", None),),
    visible=("/physical_device:GPU:0",),
)


def page(ops: dict[tuple[str, str], float], facts: Facts | None = None) -> Page:
    process = Process()
    for told in (*events(), *filter(None, [facts])):
        process.apply(told)
    process.apply(Kernels(ops={"Where": {"CPU": ()}, "MatMul": {"CPU": (), "GPU": ()}}))
    window = seen()
    window.ops = {Key(op, f"{op}/{device}", device): spent for (op, device), spent in ops.items()}
    process.windows.append((Window(start=2.0, end=3.0, steps=12), window))
    return page_of(
        [process],
        command=("train.py",),
        exit_code=0,
        host="h",
        at="",
        lasted_s=9.0,
        sources={},
        place=Beside(),
    )


def test_the_ops_of_a_window_count_by_its_steps() -> None:
    """If all windows counted equally, a window of a few slow steps, as on a busy host, would count as much as
    a long window.
    """
    process, key = Process(), Key("MatMul", "dense/MatMul", "CPU")
    for told in events():
        process.apply(told)
    for start, n, took in ((2.0, 1, 1.0), (5.0, 9, 0.01)):
        window = seen()
        window.steps, window.ops = [{"compute on CPU": took}] * n, {key: took}
        process.windows.append((Window(start=start, end=start + 1, steps=n), window))
    (op,) = ops_of(process)
    assert op.seconds == pytest.approx((1.0 + 9 * 0.01) / 10)


def test_a_reason_shared_by_every_op_is_printed_once() -> None:
    of = page({("Conv2D", "CPU"): 0.006, ("MatMul", "CPU"): 0.004})
    assert of.ran_on == "every op ran on the CPU: TensorFlow sees no GPU"
    assert page_text(of).splitlines()[2] == of.ran_on
    assert page_text(of).count("sees no GPU") == 1


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({}, "every op ran on GPU:0"),
        ({("Where", "CPU"): 0.002}, "80% of the ops' time is on GPU:0, 20% on the CPU: TensorFlow has no GPU kernel for Where"),
        ({("Where", "CPU"): 0.001, ("MatMul", "CPU"): 0.001}, "80% of the ops' time is on GPU:0, 20% on the CPU"),
        ({("Tanh", "CPU"): 0.002}, "80% of the ops' time is on GPU:0, 20% on the CPU"),
    ],
)  # fmt: skip
def test_the_share_of_each_device_is_printed_with_its_single_reason(others, says) -> None:
    of = page({("MatMul", "GPU:0"): 0.008, **others}, GPU)
    assert of.ran_on == says
    told = page_text(of)
    assert all(op.reason in told for op in of.ops)
    assert msgspec.json.decode(msgspec.json.encode(of), type=Page) == of


@pytest.mark.parametrize(
    ("scopes", "found"),
    [
        # scopes that the graph enters a second time, as when a Keras model is trained
        (("model_1/conv2d_1", "model_1/conv2d_1_2", "model_1/dense_2_1"), ("conv2d", "conv2d_1", "dense_2")),
        # scopes with their own names
        (("model/conv2d", "model/conv2d_1", "model/dense_2"), ("conv2d", "conv2d_1", "dense_2")),
    ],
)
def test_a_scope_belongs_to_the_layer_that_explains_its_number(scopes, found) -> None:
    names = [f"StatefulPartitionedCall/gradient_tape/{scope}/MatMul" for scope in scopes]
    layers = LayerNames({"conv2d", "conv2d_1", "dense_2"}, names)
    assert tuple(map(layers.of, names)) == found
    assert layers.of("Adam/Mul") == "" and LayerNames((), names).of(names[0]) == ""


def test_one_long_step_does_not_squash_the_others() -> None:
    of = page({("MatMul", "CPU"): 0.01})
    median = of.steps.median_s
    assert median
    even = {number: median * (1 + number % 2) for number in range(20)}
    assert not chart(of, even).y.log and not chart(of, {}).y.log
    assert chart(of, {**even, 20: 20 * median}).y.log
    assert not chart(of, {**even, 20: 20 * median, 21: 0.0}).y.log, "zero has no logarithm"


def test_a_program_whose_last_line_has_run_is_ending() -> None:
    """A program that uses much memory takes seconds to exit. This time must not count as unknown."""
    shown = page({})
    assert status(shown, running=True).text.startswith("running, ")
    rows = tuple(
        AccountRow(kind="unknown", function=name, seconds=1.0) for name in ("ending", "starting", "")
    )
    shown = msgspec.structs.replace(shown, account=rows)
    assert status(shown, running=True).text.startswith("ending, ")
    assert status(shown, running=False).text.startswith("ended with exit code 0")
    assert {words for words, _, _ in account_kinds(shown)} == {"ending", "starting", "not known"}


def test_a_saved_page_explains_why_it_draws_no_steps() -> None:
    shown = page({})
    assert why_empty("steps", shown, running=True) == "No step has been timed yet."
    assert why_empty("steps", shown, running=False).startswith(f"{shown.steps.n:,} steps seen")


def test_the_steps_that_only_the_profiler_saw_are_given_as_a_part_of_all() -> None:
    some = StepTimes(n=68, median_s=5.73e-3, kind="eager", total_s=2.48)
    assert step_time(some) == "5.73 ms, 68 of about 430 seen, 2.48 s in total"
    every = msgspec.structs.replace(some, n=430)
    assert step_time(every) == "5.73 ms, 430 seen, 2.48 s in total"
    uneven = msgspec.structs.replace(some, kind="tf.function", name="step")
    assert step_time(uneven) == "5.73 ms, 68 seen, 2.48 s in total", "a few long steps take most of the time"
    assert "3 seen" in step_time(StepTimes(n=3, median_s=0.0, total_s=2.0)), "a hostile program's steps"
