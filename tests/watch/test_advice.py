import re
from typing import get_args

import pytest

from tests.tui.watched import FILE
from tuilab.model.program import Code, Dataset, Function, Graph, Hello, Stage, Steps, Traces, Window
from tuilab.program.advice import TABLE, advise
from tuilab.program.case import Beside, Case
from tuilab.program.effects import effects, fed_back
from tuilab.program.findings import findings
from tuilab.program.findings.tracing import differences
from tuilab.program.fold import Process
from tuilab.program.graph import Key
from tuilab.program.window import Seen

LOOP = """import {imports}
import tensorflow as tf

def step(x):
    with tf.GradientTape() as tape:
        y = {body}
    return y

for n in range(100):
    step(n)
"""


def process(*, nodes: tuple[tuple[str, str, str, str, int], ...] = ()) -> Process:
    out = Process()
    out.apply(Hello(pid=7, parent=1, script=FILE, began=0.0, now=1.0))
    out.apply(Function(number=0, name="step", file=FILE, line=4, own=True, caller=(FILE, 10)))
    out.apply(Steps(now=3.0, calls=tuple((0, 2 + n / 100, 2.009 + n / 100, False) for n in range(100))))
    out.apply(Graph(number=0, name="step", nodes=nodes))
    return out


def test_every_code_has_advice() -> None:
    assert set(get_args(Code)) - {"between-steps"} <= set(TABLE)


@pytest.mark.parametrize(
    ("imports", "body", "told"),
    [
        ("numpy as np", "np.random.normal(size=3)", "np.random would be drawn only once"),
        ("numpy", "numpy.random.rand()", "np.random would be drawn only once"),
        ("random", "random.random()", "random would be drawn only once"),
        ("time", "time.time()", "time.time() would run only once"),
        ("gym", "gym.make('a').step(x)", "is not a TensorFlow op"),
        ("numpy as np", "tf.reduce_sum(x).numpy()", "have no .numpy()"),
        ("numpy as np", "print(x)", "use tf.print"),
        ("numpy as np", "np.sqrt(2.0) * tf.tanh(x)", ""),
        ("math", "tf.random.normal([3]) * math.pi", ""),
    ],
)
def test_python_that_tracing_would_freeze_is_reported_first(imports: str, body: str, told: str) -> None:
    sources = {FILE: LOOP.format(imports=imports, body=body)}
    change, first, _ = advise("eager-step", Case(process(), sources, Beside()), (FILE, 5))
    assert change.startswith("put the step into a function under @tf.function")
    assert (told in change and "but first: " in change) if told else not first


@pytest.mark.parametrize(("own", "called_back"), [(True, set()), (False, {("a.py", 3)})])
def test_ops_below_the_line_of_the_step_are_callbacks_only_in_keras(
    own: bool, called_back: set[object]
) -> None:
    """In `step(augment(x))`, the ops of `augment` stand below the line that calls the step."""
    process = Process()
    place = "a.py" if own else "/x/keras/trainer.py"
    process.apply(Function(number=1, name="step", file=place, own=own, caller=("a.py", 9)))
    process.apply(Steps(now=2.0, cpu=1.0, calls=tuple((1, n / 50, n / 50 + 0.01, False) for n in range(50))))
    process.stacks[(("a.py", 9), ("a.py", 3))] = 40
    assert process.step == 1 and process.called_back() == called_back


def test_every_frequent_cause_of_traces_is_named() -> None:
    def call(length: int, number: float) -> list[list[object]]:
        return [["tensor", [length], "float32"], ["number", number]]

    both = [call(n, n / 7) for n in range(40)]
    assert sorted(differences(both)) == ["a Python number", "a new shape"]
    assert differences([call(8, n) for n in range(40)]) == ["a Python number"]
    rare = [call(8 + (n == 20), n) for n in range(40)]
    assert differences(rare) == ["a Python number"], "one other shape among forty numbers"
    assert differences([None, None]) == differences([]) == []


def test_own_functions_called_by_the_step_are_read_too() -> None:
    text = (
        "import numpy as np\nimport tensorflow as tf\n\ndef noise():\n    return np.random.rand()\n\n"
        "for n in range(9):\n    with tf.GradientTape():\n        noise()\n\ndef other():\n    print(1)\n"
    )
    assert [(each.name, each.line) for each in effects({FILE: text}, FILE, 8)] == [("np.random", 5)]


def test_a_gradient_that_is_assigned_is_no_python_effect() -> None:
    text = (
        "import tensorflow as tf\n\nfor n in range(9):\n    with tf.GradientTape() as tape:\n"
        "        loss = model(x)\n    grads = tape.gradient(loss, weights)\n    optimizer.apply(grads)\n"
    )
    assert effects({FILE: text}, FILE, 5) == ()


STEP = (
    "import gym\nimport time\nimport tensorflow as tf\n\nenv = gym.make('x')\nt = time.perf_counter()\n\n"
    "def step(x{0}):\n    with tf.GradientTape() as {1}:\n        loss = model(x)\n"
    "    return {1}.gradient(loss, w){2}\n\nfor n in range(9):\n    step(n)\n"
)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (STEP.format("", "t", ""), []),
        (STEP.format(", t", "tape", ", t.watch(x)"), []),
        (STEP.format("", "tape", ", env.step(1)"), ["env.step"]),
        (STEP.format("", "tape", ", time.time()"), ["time.time"]),
    ],
)
def test_a_name_in_a_function_is_not_the_modules_variable(code: str, found: list[str]) -> None:
    assert [each.name for each in effects({FILE: code}, FILE, 9)] == found


@pytest.mark.parametrize("op", ["PyFunc", "EagerPyFunc", "StringJoin"])
def test_xla_is_not_advised_for_code_that_it_cannot_compile(op: str) -> None:
    of = process(nodes=(("a", "Tanh", "float32", FILE, 5), ("b", op, "float32", FILE, 6)))
    change, _, preset = advise("xla-off", Case(of, {}, Beside()), (FILE, 4))
    assert "jit_compile" not in change and op in change and "train.py:6" in change and not preset
    plain = process(nodes=(("a", "Tanh", "float32", FILE, 5),))
    assert "jit_compile" in advise("xla-off", Case(plain, {}, Beside()), (FILE, 4))[0]


def test_xla_for_many_shapes_needs_one_shape_first() -> None:
    of = process()
    shapes = tuple((0.01, [["tensor", [n, 4], "float32"]]) for n in range(5))
    of.apply(Traces(number=0, traces=shapes))
    assert (
        "XLA compiles once for each of its 5 shapes"
        in advise("xla-off", Case(of, {}, Beside()), (FILE, 4))[0]
    )


@pytest.mark.parametrize(
    ("ops", "below", "told"),
    [(("RandomUniform",), "Map", "first random values"), (("Mul",), "Repeat", ".repeat()")],
)
def test_a_cache_keeps_nothing_random_and_no_endless_data(
    ops: tuple[str, ...], below: str, told: str
) -> None:
    of = process()
    stage = Stage(stage="Map", file=FILE, line=12, own=True, ops=ops)
    of.apply(Dataset(stages=(stage, Stage(stage=below, file=FILE, line=11))))
    assert told in advise("input-bound", Case(of, {}, Beside()), (FILE, 12))[0]


def test_no_share_exceeds_the_whole() -> None:
    """A matrix product that runs on two threads takes more thread time than the step lasts."""
    of = process(nodes=(("mul", "MatMul", "float64", FILE, 5),))
    seen = Seen(steps=[{"compute on CPU": 0.009, "dispatch": 0.001}] * 20)
    seen.ops = {Key("MatMul", "mul", "CPU"): 0.018}
    of.windows.append((Window(start=2.0, end=2.4, steps=20, step=0), seen))
    (found,) = (each for each in findings(Case(of, {}, Beside())) if each.code == "float64")
    assert "90% of a step" in found.message and found.share == pytest.approx(0.45)
    assert found.program_share is not None and 0 < found.program_share <= 1
    assert found.saves_s == pytest.approx(0.45 * of.stepping_s)


def test_text_generation_is_not_advised_to_predict_at_once() -> None:
    generated = "x = seed\nfor n in range(9):\n    p = m.predict(x)\n    x = shift(x, p)\n"
    rows = "out = []\nfor row in rows:\n    out.append(m.predict(row))\n"
    appended = "for n in range(9):\n    a = 1\n    tok.append(int(m.predict(np.array([tok]))[0]))\n"
    assert fed_back({FILE: generated}, FILE, 3) and fed_back({FILE: appended}, FILE, 3)
    assert not fed_back({FILE: rows}, FILE, 3)


@pytest.mark.parametrize("ops", [200, 4_000])
@pytest.mark.parametrize("device", ["CPU", "GPU:0"])
def test_xla_is_advised_only_if_the_programs_steps_repay_its_compilation(ops: int, device: str) -> None:
    """XLA saves at most 7.2 s over the program's 900 steps."""
    of = process(nodes=tuple((f"tanh_{n}", "Tanh", "float32", FILE, 5) for n in range(ops)))
    of.apply(Steps(now=12.0, calls=tuple((0, 3 + n / 100, 3.009 + n / 100, False) for n in range(800))))
    seen = Seen(steps=[{f"compute on {device}": 0.002, "scheduling": 0.008}] * 20)
    of.windows.append((Window(start=2.0, end=2.4, steps=20, step=0), seen))
    found = {each.code: each for each in findings(Case(of, {}, Beside()))}
    pays, gross = ops == 200, 0.8 * of.stepping_s
    assert all(f"{ops:,} ops in the graph of a step" in each.message for each in found.values()), found
    if device == "CPU":
        assert ("xla-off" in found) is pays
    else:
        assert ("jit_compile" in found["launch-bound"].remedy) is pays
        assert found["launch-bound"].saves_s == pytest.approx(gross)
    if pays and device == "CPU":
        assert 0 < (found["xla-off"].saves_s or 0.0) < gross
        assert re.search(r"pays off after \d+ steps", found["xla-off"].message)
