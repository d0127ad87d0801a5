import uuid

import pytest

from tests.conftest import fold
from tests.workloads.test_own import ONE, TOUCH
from tuilab.model.arms import ArmSelection
from tuilab.model.events import CHOSEN, Declared, Refused
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.requests import Declare, Measure
from tuilab.model.scenario import Opening, Scenario
from tuilab.model.shapes import checked, parse

pytestmark = pytest.mark.real_worker

FILE = '''
import functools
from typing import Annotated
import keras
import tensorflow as tf

@tf.function
def square(n=16):
    """Sum the product of a random matrix."""
    x = tf.random.normal((n, n))
    return tf.reduce_sum(tf.matmul(x, x))

@tf.function(input_signature=[tf.TensorSpec([None, 8], tf.float32), tf.TensorSpec([8, 4], tf.float32)])
def project(x, w):
    return tf.matmul(x, w)

@tf.function(jit_compile=True)
def loss(a, b):
    return tf.reduce_mean(tf.square(a - b))

def annotated(x: tf.TensorSpec([None, 8]), y: Annotated[tf.Tensor, tf.TensorSpec([8, 2])], scale: int = 2):
    return tf.matmul(x, y) * float(scale)

def documented(a, b, upper=False):
    """Solve.

    >>> a = tf.linalg.diag(tf.constant([2.0, 4.0]))
    >>> documented(a, b=tf.ones((2, 1)))
    """
    return tf.linalg.triangular_solve(a, b, lower=not upper)

def lookup(table, ids):
    return tf.gather(table, ids)

def named(x, /, *, axis, keep=False):
    return tf.reduce_sum(x, axis=axis, keepdims=keep)

def variable(*parts, **more):
    return tf.add_n([*parts, *more.values()])

def nested(x, state):
    h, c = state
    return x + h * c["deep"]

def product(a, b):
    return tf.matmul(a, b)

def biased(x, weights, bias):
    return tf.nn.bias_add(tf.matmul(x, weights), bias)

def cross_entropy(labels, logits):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

def counted(n):
    return tf.zeros((n, n))

def plane(image):
    return tf.image.sobel_edges(image)

def ranked(x):
    print("traced")
    tf.debugging.assert_rank(x, 7)
    return x

def whole(n: int):
    return tf.ones((n,))

half = functools.partial(tf.multiply, y=0.5)

class Encoder(tf.Module):
    def __init__(self, width=4):
        super().__init__()
        self.w = tf.Variable(tf.ones((8, width)))

    @tf.function(input_signature=[tf.TensorSpec([None, 8])])
    def encode(self, x):
        return tf.matmul(x, self.w)

    @tf.function
    def __call__(self, x):
        return tf.matmul(x, self.w)

    @staticmethod
    def twice(x):
        return x + x

class Needs:
    def __init__(self, width): ...
    def call(self, x): return x

encoder = Encoder()
graph = encoder.encode.get_concrete_function()
dense = keras.layers.Dense(4)
built = keras.layers.Dense(4)
built.build((None, 8))

class Plain(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(3)

    def call(self, x):
        return self.inner(x)

plain = Plain()
used = Plain()
used(tf.ones((2, 8)))

class Sized(Plain):
    def __init__(self, width=2):
        super().__init__()
        self.inner = keras.layers.Dense(width)

sized = Sized(5)
changed = Plain()
changed.steps = 7
sized(tf.ones((2, 8)))
changed(tf.ones((2, 8)))

ROWS = tf.reshape(tf.range(64, dtype=tf.float32), (8, 8))
def three(): return tf.matmul, ROWS, ROWS
def pair(): return tf.matmul, (ROWS, ROWS)
def keyword(): return tf.matmul, ROWS, {"b": ROWS, "transpose_b": True}
def only(): return tf.matmul, {"a": ROWS, "b": ROWS}
def ragged(): return (lambda r: tf.reduce_sum(r, axis=1)), tf.ragged.constant([[1.0, 2.0], [3.0]])
def with_state():
    counter = tf.Variable(0.0)
    return (lambda v, x: v.assign_add(tf.reduce_sum(x))), counter, ROWS
def halved(x, state):
    steps = 0
    while tf.reduce_max(x) > 1.0:
        x, steps = x / 2.0, steps + 1
    return x, steps, state["s"]
def loop(): return (lambda x, state: halved(x, state)), ROWS, {"s": ROWS}
def lonely(): return (tf.matmul,)
def reversed_(): return ROWS, tf.matmul
def layer_alone(): return dense
def words(): return tf.strings.upper, tf.constant("hello")
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    file = tmp_path_factory.mktemp("inputs") / "own_inputs.py"
    file.write_text(FILE)
    return file


def declare(worker, file, *shapes):
    opening = Opening(inputs=checked([parse(each) for each in shapes]))
    request = Declare(id=uuid.uuid4().hex, file=str(file), opening=opening)
    worker.send(request)
    while True:
        event = worker.next()
        if isinstance(event, Declared | Refused) and event.request == request.id:
            return event, opening


def measured(worker, file, *shapes, chosen=ONE):
    """Return a run's arms by mode or device, and the declaration. chosen: the modes and devices."""
    declared, opening = declare(worker, file, *shapes)
    assert isinstance(declared, Declared), declared
    declaration = declared.declaration
    values = check_values(declaration.parameters, declaration.constraints, {})
    arms = expand(chosen, declaration, values, ("CPU:0", "CPU:1"))
    scenario = Scenario(declaration.name, values, str(file), opening)
    state = fold(worker.measure(Measure(id=uuid.uuid4().hex, scenario=scenario, arms=arms, budget=TOUCH)))
    assert state.status == "ok", state.detail
    by = "mode" if chosen is ONE else "device"
    return {getattr(arm.arm, by): arm for arm in state.arms.values()}, declaration


@pytest.mark.parametrize(
    ("name", "shapes", "sliders"),
    [
        ("square", [], {"n": 16}),
        ("project", [], {"batch": 32}),
        ("project", ["x=float32[rows=4,8]", "w=float32[8,4]"], {"rows": 4}),
        ("loss", ["a=float32[n=6,4]", "b=float32[n,4]"], {"n": 6}),
        ("annotated", [], {"batch": 32, "scale": 2}),
        ("documented", [], {}),
        ("lookup", ["table=float32[rows=10,4]", "ids=int32[batch=3]"], {"batch": 3, "rows": 10}),
        ("named", ["x=float32[4,6]", "axis=1"], {"axis": 1, "keep": False}),
        ("variable", ["x=float32[4]", "y=float32[4]"], {}),
        ("nested", ["x=float32[4]", "state.0=float32[4]", "state.1.deep=float32[4]"], {}),
        ("whole", ["n=16"], {"n": 16}),
        ("half", ["x=float32[n=8]"], {"n": 8}),
        ("encoder", ["x=float32[batch=2,8]"], {"batch": 2}),
        ("encoder.encode", [], {"batch": 32}),
        ("Encoder.encode", [], {"batch": 32}),
        ("Encoder.twice", ["x=float32[3]"], {}),
        ("graph", [], {"batch": 32}),
        ("dense", ["inputs=float32[batch=2,8]"], {"batch": 2}),
        ("built", [], {"batch": 32}),
        ("plain", ["x=float32[batch=2,8]"], {"batch": 2}),
        ("used", [], {"batch": 32}),
    ],
)
def test_a_function_with_arguments_runs_in_each_mode(worker, own, name, shapes, sliders):
    arms, declaration = measured(worker, f"{own}:{name}", *shapes)
    assert {p.name: p.default for p in declaration.parameters} == sliders
    assert set(arms) == ({"graph", "xla"} if name == "graph" else {"eager", "graph", "xla"})
    for mode, arm in arms.items():
        assert arm.status == "ok", f"{mode}: {arm.reason}\n{arm.detail}"


@pytest.mark.parametrize(
    ("name", "shapes", "says"),
    [
        ("loss", [], "a and b have no known shape; pass --input a=float32[batch=32,64] --input b="),
        ("loss", ["a=float32[2]"], "b has no known shape"),
        ("loss", ["a=float32[2]", "b=float32[2]", "c=float32[2]"], "--input c: the function takes a, b"),
        ("whole", [], "n needs a default, as in n=32, or --input n=32"),
        ("Needs", [], "create it in the file, as in made = Needs(…)"),
        ("Needs.call", [], "create it in the file"),
        ("dense", [], "tuilab.capture(dense, …)"),
        ("encoder.missing", [], "a name defined in the file"),
        ("ROWS", [], "a function, a Keras layer or a Keras model"),
    ],
)
def test_files_that_cannot_be_opened_are_refused_in_a_sentence(worker, own, name, shapes, says):
    refused, _ = declare(worker, f"{own}:{name}", *shapes)
    assert isinstance(refused, Refused) and not refused.detail
    assert says in refused.message, refused.message
    if "known shape" in says:
        assert refused.lacking == (("a", "b") if not shapes else ("b",))


@pytest.mark.parametrize(
    ("name", "given", "suggested"),
    [
        ("loss", [], ["float32[batch=32,64]"] * 2),
        ("loss", ["a=float32[rows=6,4]"], ["float32[rows=6,4]"]),
        ("product", [], ["float32[n=64,n=64]"] * 2),
        ("biased", [], ["float32[batch=32,64]", "float32[64,64]", "float32[64]"]),
        ("cross_entropy", [], ["int32[batch=32]", "float32[batch=32,64]"]),
        ("counted", [], ["int32[]"]),
        ("plane", [], ["float32[batch=8,height=64,width=64,3]"]),
        ("dense", [], ["float32[batch=32,64]"]),
    ],
)
def test_suggested_shapes_are_accepted_and_leave_the_function_unchanged(worker, own, name, given, suggested):
    refused, _ = declare(worker, f"{own}:{name}", *given)
    assert isinstance(refused, Refused) and list(refused.suggested) == suggested, refused
    shapes = [f"{each}={shape}" for each, shape in zip(refused.lacking, suggested, strict=True)]
    assert " ".join(f"--input {shape}" for shape in shapes) in refused.message
    if name == "dense":  # tracing has not built the layer
        shapes = ["inputs=float32[2,8]"]
    arms, _ = measured(worker, f"{own}:{name}", *given, *shapes)
    assert arms["graph"].status == "ok", arms["graph"].reason


def test_no_shape_is_invented_if_none_of_the_usual_ones_fits(worker, own):
    refused, _ = declare(worker, f"{own}:ranked")
    assert isinstance(refused, Refused) and refused.suggested == ()
    assert "x has no known shape; no usual shape is known to fit; pass --input NAME=DTYPE[" in refused.message
    assert "float32" not in refused.message


def test_the_range_of_indices_is_found_by_calling(worker, own):
    arms, _ = measured(worker, f"{own}:lookup", "table=float32[7,4]", "ids=int32[64]")
    assert arms["eager"].status == "ok", arms["eager"].reason


def test_an_integer_chosen_for_an_argument_is_reported_and_a_given_one_is_not(worker, own):
    arms, _ = measured(worker, f"{own}:counted", "n=int32[]")
    (fact,) = {fact.name: fact for fact in arms["graph"].facts if CHOSEN in fact.name}.values()
    assert fact.name == f"{CHOSEN}n" and fact.text.startswith(f"n is {fact.value:,}, a random integer")
    arms, _ = measured(worker, f"{own}:counted", "n=int32[]:50..50")
    assert not [fact for fact in arms["graph"].facts if CHOSEN in fact.name]


@pytest.mark.parametrize(
    "name", ["three", "pair", "keyword", "only", "ragged", "with_state", "loop", "words"]
)
def test_a_callable_is_measured_without_making_its_inputs(worker, own, name):
    arms, _ = measured(worker, f"{own}:{name}")
    for mode, arm in arms.items():
        if name in ("ragged", "words") and mode == "xla":
            continue
        assert arm.status == "ok", f"{mode}: {arm.reason}\n{arm.detail}"
        ops = {node.op for nodes in arm.placement.values() for node in nodes}
        assert name == "ragged" or not ops & {"Reshape", "Range"}, "the inputs are built outside the call"


@pytest.mark.parametrize("name", ["lonely", "reversed_", "layer_alone"])
def test_results_other_than_tensors_or_a_callable_with_inputs_are_refused(worker, own, name):
    arms, _ = measured(worker, f"{own}:{name}")
    assert {arm.status for arm in arms.values()} == {"failed"}
    assert all("expected tensors, a callable, (callable, inputs)" in arm.reason for arm in arms.values())


@pytest.mark.parametrize("name", ["plain", "used"])
def test_a_subclassed_model_is_copied_to_another_device(worker, own, name):
    both = ArmSelection(devices=("CPU",), modes=("graph",))
    arms, _ = measured(worker, f"{own}:{name}", "x=float32[batch=2,8]", chosen=both)
    assert {arm.device for arm in arms.values() if arm.status == "ok"} == {"CPU:0", "CPU:1"}


@pytest.mark.parametrize("name", ["sized", "changed"])
def test_a_model_that_cannot_be_copied_is_refused_with_what_to_do(worker, own, name):
    both = ArmSelection(devices=("CPU",), modes=("graph",))
    arms, _ = measured(worker, f"{own}:{name}", "x=float32[batch=2,8]", chosen=both)
    assert arms["CPU:0"].status == "ok"
    assert arms["CPU:1"].reason.endswith(
        "its weights are on CPU:0, and Keras cannot copy it to CPU:1: use a function that returns the model"
    )
