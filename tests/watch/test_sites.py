"""Findings for call sites: lines that call predict or fit in a loop, and models built in a loop."""

import pytest

from tests.tui.watched import FILE
from tuilab.model.program import (
    Account,
    Bottleneck,
    Dataset,
    Facts,
    Function,
    Graph,
    Hello,
    Stage,
    Steps,
    Traces,
)
from tuilab.program.case import Beside, Case
from tuilab.program.findings import findings
from tuilab.program.findings.python import asleep_share
from tuilab.program.fold import Process
from tuilab.program.gains import is_certain
from tuilab.program.gpu_bound import on_a_gpu
from tuilab.program.page import page_of
from tuilab.program.sites import unexplained

LOOP = """model.fit(x, y)
out = []
for row in rows:
    a = model.predict(row)
    b = model.predict(row + 1)
features = make()
"""
KERAS = "/env/keras/src/backend/tensorflow/trainer.py"


def process(spent: dict[tuple[str, int, str], float], *, calls: int = 100, rounds: int = 2) -> Process:
    """Return a program whose lines took the seconds in `spent`, spread evenly over the rounds.

    spent: seconds by kind, line and call.
    """
    out = Process()
    out.apply(Hello(pid=7, parent=1, script=FILE, began=0.0, now=1.0))
    out.apply(Facts(opened=True, physical=(("/physical_device:CPU:0", "CPU", "", None),)))
    out.apply(Function(number=0, name="one_step_on_data", file=KERAS, line=9, caller=(FILE, 4)))
    at = tuple((0, 2 + n / 10, 2.002 + n / 10, False) for n in range(calls))
    out.apply(Steps(now=20.0, calls=at, iterators=calls))
    counted = tuple((FILE, line, call, calls, calls) for _, line, call in spent)
    rows = tuple(
        (kind, ((FILE, line),), call, "", seconds / rounds) for (kind, line, call), seconds in spent.items()
    )
    for number in range(rounds):
        wall = 20.0 * (number + 1) / rounds
        out.apply(Account(rows=rows, calls=counted, wall=wall, watching=0.0, cpu=0.0))  # type: ignore[arg-type]
    return out


def test_each_line_that_predicts_in_a_loop_has_its_own_finding() -> None:
    of = process(
        {
            ("input", 4, "Model.predict"): 6.0,
            ("graphs", 5, "Model.predict"): 8.0,
            ("graphs", 1, "Model.fit"): 3.0,
        }
    )
    found = findings(Case(of, {FILE: LOOP}, Beside()))
    assert [each.line for each in found] == [5, 4]
    # Each of the calls still needs one step of 2 ms, which cannot be saved.
    assert [each.saves_s for each in found] == pytest.approx([8.0 - 0.1, 6.0 - 0.1])
    # The upper end of the gain includes these steps, because a single call for all rows may compute the rows
    # faster.
    assert [max(each.gain_ci95 or ()) for each in found] == pytest.approx([20 / 12, 20 / 14])
    for each in found:
        assert "predict() is called" in each.message and "the loop on line 3" in each.message
        assert "fit" not in each.remedy and each.program_share == pytest.approx((each.saves_s or 0) / 20)
    assert sum(each.program_share or 0 for each in found) <= 1


def test_a_fit_of_many_steps_in_a_loop_is_not_called_row_by_row() -> None:
    of = process({("graphs", 4, "Model.fit"): 15.0})
    of.counted[FILE, 4, "Model.fit"] = 10, 1_000
    assert not findings(Case(of, {FILE: LOOP.replace("predict", "fit")}, Beside()))


def test_epochs_of_few_steps_are_not_called_separate_fits() -> None:
    """A graph network with 45 epochs of 5 steps was wrongly advised to collect its rows for one fit()."""
    of = process({("graphs", 1, "Model.fit"): 15.0})
    of.counted[FILE, 1, "Model.fit"] = 1, 1_000
    seen = (FILE, 1, "<module>", "keras.src.trainers", -1, 50)
    of.apply(Steps(now=20.0, calls=((0, 12.0, 12.002, False),), iterators=60, samples=(seen,)))
    (found,) = findings(Case(of, {FILE: LOOP}, Beside()))
    assert "between epochs, which have few steps" in found.message and "steps_per_epoch" in found.remedy
    assert "train_on_batch" not in found.remedy


def test_a_model_that_is_built_in_a_loop_is_named_at_that_line() -> None:
    text = "for fold in range(9):\n    m = keras.Sequential([])\n    m.compile()\n    m.fit(x, y)\n"
    of = process({})
    for number in range(9):
        of.apply(Function(number=number, name="step", file=KERAS, line=9, caller=(FILE, 4)))
        of.apply(Traces(number=number, traces=((0.5, None),)))
    (found,) = (each for each in findings(Case(of, {FILE: text}, Beside())) if each.code == "rebuilt")
    assert found.line == 2 and "built and compiled" in found.message and found.saves_s == pytest.approx(4.0)
    other = findings(Case(of, {FILE: text.replace("([])", "(layers(fold))")}, Beside()))
    (found,) = (each for each in other if each.code == "rebuilt")
    assert "the model depends on the loop's fold" in found.remedy
    text = "for units in n:\n  for lr in r:\n    m = Sequential([Dense(units)])\n    m.compile(Adam(lr))\n    m.fit(x)\n"
    for each, fit in ((text, 5), (text.replace("\n    m.compile", "; m.compile"), 4)):
        of = process({})
        for number in range(9):
            of.apply(Function(number=number, name="step", file=KERAS, line=9, caller=(FILE, fit)))
            of.apply(Traces(number=number, traces=((0.5, None),)))
        (found,) = (f for f in findings(Case(of, {FILE: each}, Beside())) if f.code == "rebuilt")
        assert "the model depends on the loop's lr and units" in found.remedy


def test_calls_of_a_model_that_the_loop_rebuilds_get_no_advice_of_their_own() -> None:
    text = "for fold in range(99):\n    m = keras.Sequential([])\n    m.compile()\n    m.predict(x)\n"
    of = process({("input", 4, "Model.predict"): 6.0})
    assert [each.code for each in findings(Case(of, {FILE: text}, Beside()))] == ["between-steps"]
    for number in range(1, 9):
        of.apply(Function(number=number, name="step", file=KERAS, line=9, caller=(FILE, 4)))
        of.apply(Traces(number=number, traces=((0.5, None),)))
    assert [each.code for each in findings(Case(of, {FILE: text}, Beside()))] == ["rebuilt"]


def test_a_part_that_is_built_in_a_loop_of_steps_is_named_and_a_loop_of_layers_is_not() -> None:
    text = "for layer in range(9):\n    model.add(Dense(9))\nfor _ in range(9):\n    adam.apply(x)\n    step(x)\n"
    spent = {("building", 2, "Sequential.add"): 9.0, ("building", 4, "Adam.apply_gradients"): 5.0}
    assert not findings(Case(process(spent), {FILE: text}, Beside()))
    of = process({**spent, ("eager", 5, "matmul"): 2.0})
    (found,) = findings(Case(of, {FILE: text}, Beside()))
    assert (found.code, found.line, found.saves_s) == ("rebuilt", 4, pytest.approx(5.0))
    of.spent["eager", ((FILE, 4),), "Adam.apply_gradients", ""] = 5.0
    (slower,) = (each for each in findings(Case(of, {FILE: text}, Beside())) if each.code == "rebuilt")
    assert max(slower.gain_ci95 or ()) == pytest.approx(2.0), "its first update creates variables"
    once = process({**spent, ("eager", 5, "matmul"): 2.0}, rounds=1)
    assert not findings(Case(once, {FILE: text}, Beside())), "the first round of a loop builds its graphs"
    # Three rounds may be three training runs, each of which may need its own model.
    three = process({**spent, ("eager", 5, "matmul"): 2.0}, calls=3)
    assert not findings(Case(three, {FILE: text}, Beside()))


def test_a_model_that_is_called_row_by_row_is_named_and_one_of_many_rows_is_not() -> None:
    of = process({("eager", 4, "Model.__call__"): 6.0})
    text = LOOP.replace("model.predict(row)", "model(row)")
    (found,) = findings(Case(of, {FILE: text}, Beside()))
    assert (found.code, found.line) == ("eager-step", 4) and "called 100 times" in found.message
    of.counted[FILE, 4, "Model.__call__"] = 100, 200
    (found,) = findings(Case(of, {FILE: text}, Beside()))
    assert "called 100 times, 2 rows at a time, and" in found.message
    of.counted[FILE, 4, "Model.__call__"] = 100, 3_200
    assert not findings(Case(of, {FILE: text}, Beside()))


@pytest.mark.parametrize(
    "call", ["    with tf.GradientTape() as tape: model(row)", "    model(row, training=True)"]
)
def test_a_call_of_a_model_in_a_training_step_is_not_to_be_called_for_all_rows(call: str) -> None:
    of = process({("eager", 2, "Model.__call__"): 6.0})
    of.counted[FILE, 2, "Model.__call__"] = 100, 100
    text = f"for row in rows:\n{call}\n"
    assert not findings(Case(of, {FILE: text}, Beside()))
    assert findings(Case(of, {FILE: text.replace("Gradient", "").replace("=True", "=False")}, Beside()))


def test_ops_inside_a_subclassed_model_count_as_the_call_of_the_model() -> None:
    """A decoder called for each word took 16 s, all of it on lines of the user's own `call` method."""
    text = "class Decoder(Model):\n    def call(self, x):\n        return self.rnn(x)\nfor word in words:\n"
    text += "    word = decoder(word)\n"
    of = process({("eager", 1, "Layer.__call__"): 0.2})
    of.spent["eager", ((FILE, 5), (FILE, 3)), "Layer.__call__", "call"] = 8.0
    of.counted[FILE, 5, "Model.__call__"] = 300, 300
    (found,) = findings(Case(of, {FILE: text}, Beside()))
    assert (found.code, found.line, found.saves_s) == ("eager-step", 5, pytest.approx(8.0))
    assert "the model is called 300 times" in found.message


def test_a_large_part_outside_tensorflow_is_named() -> None:
    of = process({("python", 6, ""): 15.0})
    page = page_of(
        [of],
        command=("python", FILE),
        exit_code=0,
        host="",
        at="",
        lasted_s=20.0,
        sources={FILE: LOOP},
        place=Beside(),
    )
    (note,) = (note for note in page.notes if "not TensorFlow" in note)
    assert "15.0 s (75% of the program)" in note and "line 6" in note


@pytest.mark.parametrize(
    ("line", "advised"), [("    y = tf.roll(y, 1, 0) * 0.9", True), ("    y = float(y[n].numpy())", False)]
)
def test_ops_that_a_loop_runs_one_by_one_beside_a_function_are_named(line: str, advised: bool) -> None:
    """A graph cannot contain a tensor's `.numpy()`, so it is not advised for such a line."""
    case = Case(process({("eager", 2, ""): 5.0}), {FILE: f"for n in range(100):\n{line}\n"}, Beside())
    (note,) = unexplained(case, ())
    assert "line 2 of" in note and "ops that Python runs one by one in a loop" in note
    assert ("@tf.function" in note) is advised
    found = Bottleneck(code="eager-step", message="")
    assert unexplained(case, [found]) == (), "the finding covers these ops"


def test_xla_compiling_without_a_trace_is_found() -> None:
    of = process({})
    of.apply(Function(number=3, name="foo", file=FILE, line=3, own=True, xla=True))
    of.apply(
        Steps(now=20.0, calls=tuple((3, 2 + n, 2.5 + n, n == 0) for n in range(12)), compiled=((3, 12, 6.0),))
    )
    (found,) = (each for each in findings(Case(of, {FILE: LOOP}, Beside())) if each.code == "xla-recompiles")
    assert found.line == 3 and found.saves_s == pytest.approx(5.0) and "12 shapes" in found.message


def test_steps_that_become_slower_are_found_but_noise_is_not() -> None:
    slower = [0.01] * 100 + [0.05] * 100
    cases = ((slower, 0.0, True), ([0.01, 0.05] * 100, 0.0, False), (slower, 4.0, False))
    for lengths, delayed, told in cases:  # other programs use the processors for `delayed` seconds
        of, at, calls = Process(), 2.0, []
        for length in lengths:
            calls.append((5, at, at + length, False))
            at += length
        of.apply(Hello(pid=7, parent=1, script=FILE, began=0.0, now=1.0))
        of.apply(Function(number=5, name="step", file=FILE, line=2, own=True))
        of.apply(Steps(now=at, calls=tuple(calls), delayed=delayed))
        found = {each.code for each in findings(Case(of, {FILE: LOOP}, Beside()))}
        assert ("slowing" in found) is told


def bounded(sides: list[int | None]) -> Process:
    of = process({})
    tensor = [sides, "float32"]
    nodes = (("mul", "MatMul", "float32", FILE, 4), ("say", "PyFunc", "float32", FILE, 5))
    shapes = (([tensor, [[4096, 4096], "float32"]], [tensor], {}), ())
    of.apply(Graph(number=0, name="step", nodes=nodes, shapes=shapes))
    return of


def test_a_gpu_gains_at_most_the_share_that_it_can_run() -> None:
    of = bounded([4096, 4096])
    of.calls[0].spent = 15.0
    found = on_a_gpu(Case(of, {}, Beside()), "h100")
    assert found is not None and found.at_most is not None
    assert 2 < found.at_most <= 20 / 5 and "cannot speed up" in found.limited_by
    assert [(each.op, each.line) for each in found.stays_on_cpu] == [("PyFunc", 5)]


def test_calls_that_took_no_time_so_far_give_no_bound() -> None:
    """Early in a program, all of the measured time may have been spent on tracing."""
    of = bounded([None, 4096])
    of.calls[0].spent = 0.0
    found = on_a_gpu(Case(of, {}, Beside()))
    assert found is not None and found.at_most is None and "shapes" in found.reason


def test_a_graph_without_known_shapes_gives_no_bound_but_a_reason() -> None:
    found = on_a_gpu(Case(bounded([None, 4096]), {}, Beside()))
    assert found is not None and found.at_most is None and "shapes" in found.reason


def test_the_bound_of_a_call_includes_the_rest_of_its_line_and_time_of_unknown_place() -> None:
    of = process({("input", 5, "Model.predict"): 8.0, ("python", 5, ""): 1.0})
    of.spent["unknown", (), "", ""] = 2.0
    (found,) = findings(Case(of, {FILE: LOOP}, Beside()))
    assert found.saves_s == pytest.approx(8.0)
    assert max(found.gain_ci95 or ()) == pytest.approx(20 / (20 - 8 - 1 - 2))
    of = process({("eager", 4, "Model.__call__"): 6.0, ("python", 4, ""): 1.0})
    of.spent["unknown", (), "", ""] = 2.0
    (found,) = findings(Case(of, {FILE: LOOP.replace("model.predict(row)", "model(row)")}, Beside()))
    assert found.saves_s == pytest.approx(6.0) and not is_certain(found), "a graph needs some of this time"
    assert max(found.gain_ci95 or ()) == pytest.approx(20 / (20 - 6 - 1 - 2))


def test_a_wait_for_input_outside_the_steps_is_a_finding() -> None:
    """The described steps may be those of an evaluation, while the training waits for its input."""
    of = process({("input", 6, ""): 8.0})
    (found,) = findings(Case(of, {FILE: LOOP}, Beside()))
    assert (found.code, found.line, found.saves_s) == ("input-elsewhere", 6, pytest.approx(8.0))
    assert "outside the steps" in found.message and not is_certain(found)
    assert "num_parallel_calls" in found.remedy
    of.apply(Dataset(stages=(Stage(stage="Map", ops=("PyFunc",)),)))
    (found,) = findings(Case(of, {FILE: LOOP}, Beside()))
    assert "runs Python" in found.message and ".cache()" in found.remedy
    assert "num_parallel_calls" not in found.remedy, "parallel calls of Python take turns"
    of.apply(Steps(now=20.0, calls=(), iterators=100, waits=tuple((2.01 + n / 10, 0.07) for n in range(100))))
    assert "input-elsewhere" not in [each.code for each in findings(Case(of, {FILE: LOOP}, Beside()))]


def test_a_sleep_beside_eager_ops_is_not_saved_by_a_graph() -> None:
    of = process({("eager", 4, ""): 12.0, ("waiting", 5, ""): 4.0})
    assert asleep_share(Case(of, {FILE: LOOP}, Beside())) == pytest.approx(4.0 / of.stepping_s)
    elsewhere = process({("eager", 4, ""): 12.0, ("waiting", 1, ""): 4.0})
    assert asleep_share(Case(elsewhere, {FILE: LOOP}, Beside())) == 0.0
