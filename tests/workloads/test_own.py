"""A user's file in a real worker: it is declared and measured, and its errors keep their own messages."""

import uuid

import pytest

from tests.conftest import fold
from tuilab.model.arms import ArmSelection
from tuilab.model.events import Declared, Refused
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.requests import Declare, Measure
from tuilab.model.scenario import Budget, Scenario

pytestmark = pytest.mark.real_worker
TOUCH = Budget(name="quick", warm_s=0.0, warm_limit_s=0.05, precision=1.0, rounds=2, limit_s=0.2)
ONE = ArmSelection(devices=("CPU:0",))

FILE = '''
from typing import Annotated
import keras
import tensorflow as tf
import tuilab
import helper

MODEL = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3)])

def network(batch: Annotated[int, tuilab.between(1, 64)] = 8, width: int = 16):
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(width)])

def step(n: int = 4):
    """A product."""
    return tf.matmul, (tf.ones((n, n)), tf.ones((n, n)))

def tensors(n: int = 4):
    return helper.twice(tf.random.uniform((n,)))

def thunk(n: int = 4):
    ones = tf.ones((n,))
    return lambda: ones + 1

def raising(n: int = 4):
    def inner(x):
        raise ValueError(f"n is {n}")
    return inner, tf.ones((n,))

def leaving(n: int = 4):
    raise SystemExit(5)

def printing(n: int = 4):
    def inner(x):
        print("spam" * 100)
        return x + 1
    return inner, tf.ones((n,))

def nothing(n: int = 4):
    return None
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_file.py").write_text(FILE)
    (folder / "helper.py").write_text("def twice(x):\n    return x * 2\n")
    (folder / "syntax.py").write_text("def broken(:\n")
    (folder / "raises.py").write_text("import os\n\n1 / 0\n")
    return folder


def declare(worker, file):
    request = Declare(id=uuid.uuid4().hex, file=file)
    worker.send(request)
    while True:
        event = worker.next()
        if isinstance(event, Declared | Refused) and event.request == request.id:
            return event


def run(worker, file, chosen=ONE, **given):
    declared = declare(worker, file)
    assert isinstance(declared, Declared), declared
    declaration = declared.declaration
    values = check_values(declaration.parameters, declaration.constraints, given)
    arms = expand(chosen, declaration, values, ("CPU:0", "CPU:1"))
    scenario = Scenario(declaration.name, values, file)
    more = chosen is not ONE
    request = Measure(
        id=uuid.uuid4().hex, scenario=scenario, arms=arms, budget=TOUCH, phases=more, latency=more
    )
    return fold(worker.measure(request))


@pytest.mark.parametrize("name", ["MODEL", "network", "step", "tensors", "thunk", "printing"])
def test_own_code_runs_in_every_mode_with_its_placement(worker, own, name):
    chosen = ArmSelection(devices=("CPU",)) if name == "step" else ONE
    state = run(worker, f"{own}/own_file.py:{name}", chosen)
    assert state.status == "ok", state.detail
    assert {a.arm.device for a in state.arms.values()} == (
        {"CPU:0", "CPU:1"} if name == "step" else {"CPU:0"}
    )
    assert {a.arm.mode for a in state.arms.values()} == {"eager", "graph", "xla"}
    for arm in state.arms.values():
        if name == "printing" and arm.arm.mode == "xla":
            continue
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
        assert arm.cell().samples
    if name in ("MODEL", "network", "step"):
        ops = {n.op for a in state.arms.values() for nodes in a.placement.values() for n in nodes}
        assert ops & {"MatMul", "_FusedMatMul"}


def test_own_code_has_the_parameters_that_it_declares(worker, own):
    declaration = declare(worker, f"{own}/own_file.py:network").declaration
    batch = declaration.parameters[0]
    assert (batch.name, batch.default, batch.low, batch.high) == ("batch", 8, 1, 64)
    assert [p.name for p in declaration.parameters] == ["batch", "width"]
    assert [p.name for p in declare(worker, f"{own}/own_file.py:MODEL").declaration.parameters] == ["batch"]


def test_errors_of_own_code_show_only_its_own_frames(worker, own):
    state = run(worker, f"{own}/own_file.py:raising", n=7)
    assert state.status == "ok"
    eager, graph = (next(a for a in state.arms.values() if a.arm.mode == mode) for mode in ("eager", "graph"))
    line = 1 + next(i for i, text in enumerate(FILE.splitlines()) if "raise ValueError(f" in text)
    assert graph.reason == eager.reason, "an error during tracing gives the same short reason"
    assert eager.reason == f"ValueError: n is 7 (own_file.py, line {line}, in inner)"
    assert eager.error[0] == "ValueError"
    assert "own_file.py" in eager.detail and 'raise ValueError(f"n is {n}")' in eager.detail
    assert "tuilab/worker" not in eager.detail and "tensorflow/python" not in eager.detail


def test_leaving_ends_the_arm_and_not_the_worker(worker, own):
    state = run(worker, f"{own}/own_file.py:leaving")
    assert {arm.status for arm in state.arms.values()} == {"failed"}
    assert run(worker, f"{own}/own_file.py:step").status == "ok"


def test_an_invalid_result_is_refused_with_a_message(worker, own):
    state = run(worker, f"{own}/own_file.py:nothing")
    arm = next(iter(state.arms.values()))
    assert arm.status == "failed" and "tensors, a callable" in arm.reason and not arm.detail


@pytest.mark.parametrize(
    ("file", "says", "detail"),
    [
        ("own_file.py:gone", "network", ""),
        ("own_file.py:network:more", "no such file", ""),
        ("own_file.py", "path/to/file.py:name", ""),
        ("missing.py:x", "no such file", ""),
        ("syntax.py:x", "SyntaxError", "syntax.py"),
        ("raises.py:x", "ZeroDivisionError", "1 / 0"),
    ],
)
def test_files_that_cannot_be_loaded_are_refused(worker, own, file, says, detail):
    refused = declare(worker, f"{own}/{file}")
    assert isinstance(refused, Refused)
    assert says in refused.message
    assert detail in refused.detail and "tuilab" not in refused.detail
    assert bool(refused.detail) == bool(detail)


def test_a_changed_file_is_read_again(worker, own):
    path = own / "changing.py"
    path.write_text("def f(n=1): ...\n")
    assert [p.name for p in declare(worker, f"{path}:f").declaration.parameters] == ["n"]
    path.write_text("def f(n=1, more=2): ...\n")
    assert [p.name for p in declare(worker, f"{path}:f").declaration.parameters] == ["n", "more"]
