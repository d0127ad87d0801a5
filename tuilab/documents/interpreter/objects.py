"""Evaluates methods of library objects: timers, gradient tapes, sessions, strategies, TFLite interpreters."""

from collections.abc import Callable
from dataclasses import dataclass

from tuilab.documents.interpreter import timers
from tuilab.documents.interpreter.interpreter import Interpreter, Keywords, numbered
from tuilab.documents.interpreter.library import Arguments
from tuilab.documents.interpreter.names import SAVED, STEPS, TRAINS
from tuilab.documents.interpreter.trace import Kind
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    Known,
    Listing,
    Mapping,
    Model,
    OpaqueObject,
    Tensor,
    Unknown,
    Value,
)
from tuilab.documents.words import words

_DRAWS = ("normal", "uniform", "truncated_normal")
_RUNS = ("run", "experimental_run", "experimental_run_v2", "experimental_distribute_dataset", "reduce")
_LIBRARY_METHODS = ("apply_gradients", "minimize", "update_state")


@dataclass(frozen=True, slots=True)
class Asked:
    owner: OpaqueObject
    name: str
    args: list[Value]
    keywords: Keywords
    line: int


Method = Callable[[Interpreter, Asked], Value | None]
# Handlers by kind of object. A handler returns None if it does not know the method's result.
METHODS: dict[str, Method] = {}


def method(interpreter: Interpreter, asked: Asked) -> Value:
    read = METHODS.get(asked.owner.kind)
    result = read(interpreter, asked) if read is not None else None
    return Unknown(f"the result of {asked.name}()", asked.line) if result is None else result


def methods_of(kind: str) -> Callable[[Method], Method]:
    def register(function: Method) -> Method:
        METHODS[kind] = function
        return function

    return register


def assumed(kind: str, line: int) -> Value:
    if kind == "model":
        return Model([], line, open=True, assumed=True)
    return OpaqueObject(kind, {"given": NONE} if kind == "lite" else None)


@methods_of("rng")
def numpy_generator(interpreter: Interpreter, asked: Asked) -> Value | None:
    return interpreter.call(Api(f"rng.{asked.name}"), asked.args, asked.keywords, asked.line)


@methods_of("tf-rng")
def generator_of_tensors(interpreter: Interpreter, asked: Asked) -> Value | None:
    if asked.name not in _DRAWS:
        return None
    return interpreter.call(Api(f"tf.random.{asked.name}"), asked.args, asked.keywords, asked.line)


@methods_of("timer")
def timer(interpreter: Interpreter, asked: Asked) -> Value | None:
    given = Arguments(asked.line, numbered(asked.args) | asked.keywords)
    return timers.timer_method(interpreter, asked.owner, asked.name, given)


@methods_of("benchmark")
def benchmark(interpreter: Interpreter, asked: Asked) -> Value | None:
    if asked.name != "pedantic":
        return None
    return timers.pytest_benchmark(interpreter, asked.name, asked.args, asked.keywords, asked.line)


@methods_of("tape")
def tape(interpreter: Interpreter, asked: Asked) -> Value | None:
    if asked.name not in ("gradient", "jacobian", "batch_jacobian"):
        return None
    if asked.args and isinstance(asked.args[0], Unknown):
        # The differentiated computation is unknown, and it may not run at all.
        interpreter.event("opaque", f"the {asked.name} of an unknown value", asked.line)
    else:
        interpreter.event("op", f"tf.GradientTape.{asked.name}", asked.line, {}, Tensor(None, None))
    return Listing("list", [], open=True)


@methods_of("super")
def base_class(interpreter: Interpreter, asked: Asked) -> Value | None:
    """Evaluate a method call through `super()`. Assumes that the method may do anything, unless it is one of
    a few known methods.
    """
    if asked.name not in ("__init__", "build", "get_config", "setUp", "tearDown"):
        interpreter.event("opaque", f"super().{asked.name}", asked.line)
    return None


@methods_of("session")
def session(interpreter: Interpreter, asked: Asked) -> Value | None:
    if asked.name not in ("run", "partial_run"):
        return None
    interpreter.deferred = True
    fetched, only_ops = _fetch(asked)
    fed = asked.args[1] if len(asked.args) > 1 else asked.keywords.get("feed_dict", NONE)
    given = {"fetches": fetched, **({"feed_dict": fed} if fed != NONE else {}), "session": asked.owner}
    if only_ops:
        given["op"] = Known(True)
    event = interpreter.event("graph", "sess.run", asked.line, given)
    event.runs = fetched
    result = Tensor(None, None, "np", made=event.index)
    interpreter.sync("sess.run()", asked.line, result)
    return result


@methods_of("generator")
def generator(interpreter: Interpreter, asked: Asked) -> Value | None:
    interpreter.event("opaque", "a generator", asked.line)
    return None


@methods_of("writer")
def writer(interpreter: Interpreter, asked: Asked) -> Value | None:
    return NONE


@methods_of("iterator")
def iterator(interpreter: Interpreter, asked: Asked) -> Value | None:
    if asked.name not in ("get_next", "next"):
        return None
    return interpreter.call(Api("builtins.next"), [asked.owner], {}, asked.line)


@methods_of("bytes")
def data(interpreter: Interpreter, asked: Asked) -> Value | None:
    return asked.owner


@methods_of("lite")
def lite(interpreter: Interpreter, asked: Asked) -> Value | None:
    """Evaluate a method of a TFLite interpreter. Only `invoke()` computes. Outputs are copies in host
    memory.
    """
    owner, name, line = asked.owner, asked.name, asked.line
    if name == "invoke":
        made = interpreter.event("host-op", "invoke", line, {"self": owner}, Tensor(None, None, "np"))
        owner.data["output"] = made.result
        return NONE
    if name not in ("get_tensor", "tensor"):
        interpreter.event("config", f"tf.lite.Interpreter.{name}", line)
        return OpaqueObject("runner", owner) if name == "get_signature_runner" else None
    output = owner.data.get("output")
    if not isinstance(output, Tensor):
        return Tensor(None, None, "np")
    interpreter.sync(f"{name}()", line, output)
    return output


@methods_of("saved")
def saved_model_method(interpreter: Interpreter, asked: Asked) -> Value:
    """Evaluate a method of a loaded model, or a function or signature of a SavedModel."""
    if asked.name in TRAINS and asked.owner.data == "tf.saved_model.load":
        interpreter.misfit(
            "state",
            asked.line,
            f"the result of tf.saved_model.load has no {asked.name}(): it is not a Keras model",
            "Call it, or one of its signatures; tf.keras.models.load_model returns a model.",
            at=asked.name,
        )
    if asked.name in TRAINS or asked.name in STEPS:
        given = {**numbered(asked.args), **asked.keywords, "self": asked.owner}
        interpreter.event("train", asked.name, asked.line, given)
        return Tensor(None, "float32", "np")
    if asked.name.startswith(_SETS_UP):
        interpreter.event("build", asked.name, asked.line)
        return Unknown(f"the result of {asked.name}()", asked.line)
    if asked.owner.data not in ("tf.saved_model.load", "tensorflow_hub.load"):
        # Methods such as generate() may wait for their result on the host, so treat them as opaque calls.
        return interpreter.opaque(Unknown(f"{asked.name}() of a model", asked.line), asked.args, asked.line)
    return call_saved(interpreter, asked.owner, asked.args, asked.keywords, asked.line)


_SETS_UP = words("save load compile summary build get_ set_ push_ from_ to_ freeze resize_ count_ init prune")


def call_saved(
    interpreter: Interpreter, owner: Value, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Return the result of a function in a SavedModel. A call with symbolic inputs builds a model."""
    inside = any(isinstance(value, Tensor) and value.inside for value in (*args, *keywords.values()))
    result = Tensor(None, None, inside=inside)
    builds = inside and interpreter.in_graph() is None
    given = {**numbered(args), **keywords, "self": owner}
    return interpreter.make("build" if builds else "op", SAVED, line, given, result)


@methods_of("object")
def instance(interpreter: Interpreter, asked: Asked) -> Value | None:
    """Evaluate a method of a TensorFlow or Keras object, selected by the dotted name of its class."""
    made, name, line = str(asked.owner.data), asked.name, asked.line
    if made.startswith(("tf.keras.metrics.", "tf.keras.optimizers.", "tf.distribute.")):
        interpreter.use(Api(f"{made}.{name}", f"{made.rpartition('.')[2]}.{name}"), line)
    if made.startswith("tf.distribute.") and name in _RUNS:
        return _on_replicas(interpreter, asked)
    if made.startswith("tf.estimator.") and name in ("train", "evaluate"):
        # Each call builds the graph and creates a session again.
        interpreter.event("train", f"Estimator.{name}", line, {"self": asked.owner})
        return Unknown(f"the result of {name}()", line)
    if name in ("result", "numpy") and "metrics" in made:
        return interpreter.make("op", f"{made}.{name}", line, {}, Tensor((), "float32"))
    kind: Kind = "op" if name in _LIBRARY_METHODS else "build"
    interpreter.event(kind, f"{made}.{name}", line, {})
    return None


def _on_replicas(interpreter: Interpreter, asked: Asked) -> Value:
    """Interpret the function that a `tf.distribute` strategy runs on each replica."""
    name, args, keywords, line = asked.name, asked.args, asked.keywords, asked.line
    if name == "experimental_distribute_dataset":
        return args[0] if args else Unknown("a distributed dataset", line)
    if name == "reduce":
        result = Tensor(None, None, inside=interpreter.in_graph() is not None)
        return interpreter.make("op", "tf.distribute.Strategy.reduce", line, numbered(args), result)
    target = args[0] if args else keywords.get("fn", NONE)
    given = args[1] if len(args) > 1 else keywords.get("args", Listing("tuple", []))
    named = args[2] if len(args) > 2 else keywords.get("kwargs", Mapping({}))
    inputs = list(given.items) if isinstance(given, Listing) else [given]
    by_name = {str(k): v for k, v in named.items.items()} if isinstance(named, Mapping) else {}
    return interpreter.call(target, inputs, by_name, line)


_OPS = ("op", "initializer")


def _fetch(asked: Asked) -> tuple[Value, bool]:
    """Return the first value that `sess.run` fetches (the session itself if the call fetches nothing), and
    whether the call runs only ops, without values.
    """
    value = asked.args[0] if asked.args else asked.keywords.get("fetches", asked.owner)
    items = value.items if isinstance(value, Listing) else [value]
    only_ops = all(isinstance(item, Bound) and item.name in _OPS for item in items)
    value = items[0] if items else value
    # Fetching `tensor.op` runs the same op as fetching the tensor, but returns no value.
    if isinstance(value, Bound) and value.name in _OPS and isinstance(value.owner, Tensor):
        value = value.owner
    return value, only_ops
