"""Evaluates methods of values: tensors, arrays, lists, texts, pipelines, models."""

from typing import Any

from tuilab.documents.interpreter import attributes, dataset_calls, keras_calls, objects, ops
from tuilab.documents.interpreter.arithmetic import LONGEST_LIST, LONGEST_TEXT
from tuilab.documents.interpreter.expressions import join_text
from tuilab.documents.interpreter.interpreter import Interpreter, Keywords, numbered, times_in
from tuilab.documents.interpreter.library import Arguments
from tuilab.documents.interpreter.names import ARGUMENTS_OF_KERAS, ONLY_KERAS, STEPS, TRAINS, dtype_of
from tuilab.documents.interpreter.trace import Traced
from tuilab.documents.interpreter.unread import OF_LITE, SESSION, assumes_keras, callee
from tuilab.documents.interpreter.values import (
    NONE,
    RESULT_OF,
    Bound,
    Clock,
    Dataset,
    Elapsed,
    Function,
    Graph,
    Instance,
    Known,
    Listing,
    Many,
    Mapping,
    Model,
    OpaqueObject,
    Tensor,
    Unknown,
    Value,
)
from tuilab.documents.words import words

# Methods of every Keras model, except those that train or predict.
_OF_MODELS = ("call", "__call__", "compile", "summary", "save", "save_weights", "load_weights", "build")


def call(interpreter: Interpreter, bound: Bound, args: list[Value], keywords: Keywords, line: int) -> Value:
    """Evaluate a method of a value, unless the document itself defines the method."""
    owner, name = bound.owner, bound.name

    def ask(known: OpaqueObject) -> Value:
        return objects.method(interpreter, objects.Asked(known, name, args, keywords, line))

    match owner:
        case Tensor():
            return _tensor(interpreter, owner, name, args, keywords, line)
        case Dataset():
            return dataset_calls.method(interpreter, owner, name, args, keywords, line)
        case Model(assumed=True) if name not in (*TRAINS, *STEPS, *_OF_MODELS):
            return interpreter.opaque(Unknown(f"{name}() of a model", line), args, line)
        case Model():
            return keras_calls.method(interpreter, owner, name, args, keywords, line)
        case Instance() if owner.of.library_base().startswith(("tf.keras", "tf.Module")):
            return keras_calls.method(interpreter, owner, name, args, keywords, line)
        case Listing():
            return _listing(interpreter, owner, name, args, line)
        case Mapping():
            return _mapping(owner, name, args, line)
        case Known():
            return _constant(interpreter, owner.value, name, args, line)
        case Many():
            return owner if name in ("copy", "tolist") else NONE
        case Elapsed():
            return owner
        case Clock() if name in ("replace", "timestamp", "astimezone"):
            return owner
        case OpaqueObject():
            return ask(owner)
        case Graph() | Function() if name == "__call__":
            return interpreter.call(owner, args, keywords, line)
        case Graph():
            return owner if name == "get_concrete_function" else Unknown(f"the result of {name}()", line)
        case Unknown() if _is_session(interpreter, owner, name, args, keywords):
            return ask(OpaqueObject("session"))
        case Unknown() if strategy := _strategy(owner):
            return ask(strategy)
        case Unknown() if name in OF_LITE or (name == "invoke" and not args and not keywords):
            made = (v for v in owner.options if isinstance(v, OpaqueObject) and v.kind == "lite")
            lite = next(made, None) or interpreter.lites.setdefault(
                (owner.reason, owner.line), OpaqueObject("lite", {"given": NONE})
            )
            return ask(lite)
        case Unknown() if _is_keras(interpreter, owner, name, keywords):
            # The model itself is unknown, but every Keras model has this method.
            interpreter.event("train", name, line, numbered(args) | keywords)
            keras_calls.check_training(interpreter, name, Arguments(line, numbered(args) | keywords))
            return OpaqueObject("history", None) if name == "fit" else Tensor(None, "float32", "np")
        case Unknown():
            if name in ("save", "save_weights"):
                owner = Unknown(attributes.name_attribute(owner.reason, name), owner.line)
            return interpreter.opaque(owner, args, line)
        case _:
            if name == "append":
                for value in args:
                    interpreter.gather(value)
            interpreter.event("opaque", name, line, numbered(args))
            return Unknown(f"the result of {name}()", line)


# Libraries whose estimators have a `predict` method too.
_ESTIMATORS = words(
    "sklearn xgboost lightgbm catboost statsmodels joblib pickle cuml prophet scipy cv2 mlflow surprise"
)


def _strategy(owner: Unknown) -> OpaqueObject | None:
    """Return the first `tf.distribute` strategy among the possible values; None if there is none. All
    strategies run functions in the same way.
    """
    for option in owner.options:
        if isinstance(option, OpaqueObject) and str(option.data).startswith("tf.distribute."):
            return option
    return None


def _is_session(
    interpreter: Interpreter, owner: Unknown, name: str, args: list[Value], keywords: Keywords
) -> bool:
    """Return True if the value is probably a TensorFlow 1 session: its `run` takes a feed_dict, or the
    document never binds its name, which is typical of a session.
    """
    if name != "run" or "feed_dict" in keywords:
        return name == "run"
    return bool(args) and interpreter.deferred and bool(SESSION.match(owner.reason.partition(" ")[0]))


def _is_keras(interpreter: Interpreter, owner: Unknown, name: str, keywords: Keywords) -> bool:
    """Return True if a model from outside of the document is a Keras model, judging by its methods and
    arguments.

    If Keras is the only library for models that the document imports, any object with `predict` counts,
    unless another library created it.
    """
    if name not in TRAINS:
        return name in ONLY_KERAS
    if owner.options:
        # All possible models must be Keras models.
        return all(
            isinstance(option, Model)
            or (isinstance(option, Unknown) and _is_keras(interpreter, option, name, keywords))
            for option in owner.options
        )
    made = callee(owner.reason).partition(".")[0]
    alone = assumes_keras(interpreter.imported) and made not in _ESTIMATORS
    given_by = owner.reason.startswith(RESULT_OF) or " is not defined in" in owner.reason
    if name == "predict" and alone and given_by:
        return True
    given = sum(name in keywords for name in ARGUMENTS_OF_KERAS)
    return given > 0 and any(
        use.name.startswith(("tf.", "keras", "tensorflow")) for use in interpreter.trace.uses
    )


def _tensor(
    interpreter: Interpreter,
    tensor: Tensor,
    name: str,
    args: list[Value],
    keywords: Keywords,
    line: int,
) -> Value:
    given = Arguments(line, numbered(args) | keywords)
    if tensor.library == "tf" and name in ("numpy", "item", "tolist", "__array__"):
        traced = interpreter.in_graph()
        if traced is not None and name == "numpy" and _is_symbolic(interpreter, tensor, traced):
            interpreter.misfit(
                "state",
                line,
                f".numpy() of a tensor inside {traced.by}: the tensor has no value during tracing, "
                "so this raises an AttributeError",
                "Read the value outside, or put such Python code into tf.py_function.",
                at="numpy",
            )
        if tensor.inside and traced is not None:
            return Unknown("a value known only at run time", line)
        interpreter.sync(f".{name}()", line, tensor)
        return Tensor(tensor.shape, tensor.dtype, "np", tensor.made)
    if tensor.library == "tf" and name == "eval" and interpreter.in_graph() is None:
        return _evaluate_in_session(interpreter, tensor, line)
    if tensor.library == "tf" and name == "run" and interpreter.deferred:
        # The session runs an op without fetching a value: an initializer or a training step.
        _evaluate_in_session(interpreter, tensor, line)
        return NONE
    if tensor.library == "tf" and name in _OF_ARRAYS and _is_tensorflows(interpreter, tensor):
        interpreter.misfit(
            "name",
            line,
            f"a tensor has no {name}() (only an array does), so this raises an AttributeError",
            f"Use .numpy().{name}(…), or TensorFlow's own function.",
            at=name,
        )
    if tensor.library == "np" and name in ("to", "cuda", "mps", "xpu"):
        # Only PyTorch tensors have these methods, which move a tensor to a device or convert its dtype.
        return interpreter.opaque(tensor, args, line)
    if name == "astype":
        dtype = dtype_of(given.get("0", "dtype"))
        made = Tensor(tensor.shape, dtype, tensor.library, inside=tensor.inside)
        return interpreter.make(tensor.kind, "astype", line, {"x": tensor}, made)
    if tensor.library == "np" and name in ("cpu", "detach"):
        # For a PyTorch tensor on the CPU, cpu() and detach() copy nothing.
        return tensor
    if name in ("cpu", "gpu"):
        made = Tensor(tensor.shape, tensor.dtype)
        return interpreter.make("copy", f".{name}()", line, {"input": tensor}, made)
    if name in ("assign", "assign_add", "assign_sub"):
        interpreter.event("op", f"tf.Variable.{name}", line, {"value": given.get("0")}, None)
        return tensor
    if name in ("read_value", "value", "copy", "set_shape"):
        return tensor
    if name in ("tobytes", "tostring"):
        return OpaqueObject("bytes", tensor)
    if name in ("get_shape", "numpy_function"):
        return attributes.attribute(interpreter, tensor, "shape", line)
    if name in ("reshape", "transpose"):
        return _reshape(interpreter, tensor, name, args, line)
    made = Tensor(None, tensor.dtype, tensor.library, inside=tensor.inside)
    return interpreter.make(tensor.kind, name, line, {"x": tensor}, made)


# Attributes that NumPy arrays have and TensorFlow tensors lack.
_OF_ARRAYS = words(
    "astype reshape transpose flatten ravel tolist copy clip mean sum std var squeeze argmax argmin dot round"
)


def _is_tensorflows(interpreter: Interpreter, tensor: Tensor) -> bool:
    """Return True if TensorFlow, not NumPy, made the tensor. Always False if the code adds array methods to
    tensors.
    """
    if tensor.made < 0 or any(use.name.endswith("enable_numpy_behavior") for use in interpreter.trace.uses):
        return False
    made = interpreter.trace.events[tensor.made]
    own = made.name.startswith("tf.") and not made.name.startswith(_GIVES_ANYTHING)
    return own and made.kind in ("op", "create", "copy") and made.place.tries == interpreter.place.tries


# Functions that may return arrays or the results of unknown code.
_GIVES_ANYTHING = (
    "tf.keras.",
    "tf.experimental.numpy.",
    "tf.py_function",
    "tf.numpy_function",
    "tf.lite.",
    "tf.saved_model.",
    "tf.distribute.",
    "tf.map_fn",
    "tf.io.",
)


def _is_symbolic(interpreter: Interpreter, tensor: Tensor, traced: Traced) -> bool:
    """Return True if the tensor is symbolic: an argument of the graph, or created in it. A tensor that the
    graph captures from outside is not symbolic.
    """
    if any(use.name.endswith("run_functions_eagerly") for use in interpreter.trace.uses):
        return False
    made = interpreter.trace.events[tensor.made].place.traced if tensor.made >= 0 else None
    return tensor.inside or made is traced or any(value is tensor for value in traced.given)


def _evaluate_in_session(interpreter: Interpreter, tensor: Tensor, line: int) -> Value:
    """Return the value that a TensorFlow 1 session computes for a tensor."""
    session = {"session": interpreter.session} if interpreter.session is not None else {}
    event = interpreter.event("graph", "sess.run", line, {"fetches": tensor, **session})
    event.runs = tensor
    result = Tensor(tensor.shape, tensor.dtype, "np", made=event.index)
    interpreter.sync(".eval()", line, result)
    return result


def _reshape(interpreter: Interpreter, tensor: Tensor, name: str, args: list[Value], line: int) -> Value:
    sides = args[0] if len(args) == 1 and isinstance(args[0], Listing) else Listing("tuple", args)
    given = Arguments(line, {"x": tensor} | ({"shape": sides, "1": sides} if args else {}))
    shape = ops.reshaped(given) if name == "reshape" else ops.transposed(given)
    made = Tensor(shape, tensor.dtype, tensor.library, inside=tensor.inside)
    return interpreter.make(tensor.kind, name, line, {"x": tensor}, made)


def _listing(interpreter: Interpreter, listing: Listing, name: str, args: list[Value], line: int) -> Value:
    for value in args:
        interpreter.gather(value)
        times = times_in(value)
        if times and interpreter.unrolled > 1:
            interpreter.compare([*times_in(listing), *times])
    if name in ("append", "extend", "insert", "add", "pop", "clear", "remove", "update"):
        if interpreter.in_graph() is not None and listing.born is not interpreter.in_graph():
            interpreter.event("effect", f"list.{name}()", line)
        repeated = any(loop.repeats for loop in interpreter.place.loops)
        if name == "append" and args and len(listing.items) < LONGEST_LIST:
            listing.items.append(args[0])
            listing.open = listing.open or repeated
        elif name == "extend" and args and isinstance(args[0], Listing) and len(listing.items) < LONGEST_LIST:
            listing.items += args[0].items[:LONGEST_LIST]
            listing.open = listing.open or repeated or args[0].open
        else:
            listing.open = True
        return NONE
    if name == "copy":
        return Listing(listing.kind, list(listing.items), listing.open, listing.born)
    if name == "as_list":
        return listing
    return Unknown(f"the result of {name}()", line)


def _mapping(mapping: Mapping, name: str, args: list[Value], line: int) -> Value:
    if name == "items":
        pairs: list[Value] = [Listing("tuple", [Known(k), v]) for k, v in mapping.items.items()]
        return Listing("list", pairs, mapping.open)
    if name == "keys":
        return Listing("list", [Known(k) for k in mapping.items], mapping.open)
    if name == "values":
        return Listing("list", list(mapping.items.values()), mapping.open)
    if name == "get" and args and isinstance(args[0], Known):
        if args[0].value in mapping.items:
            return mapping.items[args[0].value]
        if not mapping.open:
            return args[1] if len(args) > 1 else NONE
    if name == "update" and args and isinstance(args[0], Mapping):
        mapping.items |= args[0].items
        mapping.open = mapping.open or args[0].open
    elif name in ("update", "setdefault", "pop", "clear"):
        mapping.open = True
    return Unknown(f"the result of {name}()", line)


_TEXT = ("upper", "lower", "strip", "title", "capitalize", "lstrip", "rstrip")


def _constant(interpreter: Interpreter, value: Any, name: str, args: list[Value], line: int) -> Value:
    """Return the result of a string method, which is unknown for most methods."""
    if isinstance(value, str) and name in _TEXT and not args:
        return Known(getattr(value, name)())
    given = [a.value for a in args if isinstance(a, Known)]
    if isinstance(value, str) and len(given) == len(args):
        strings = all(isinstance(g, str) for g in given)
        if name in ("startswith", "endswith") and len(given) == 1 and strings:
            return Known(bool(getattr(value, name)(given[0])))
        if (
            name == "replace"
            and len(given) == 2
            and strings
            and given[0]
            and len(value) * len(given[1]) < LONGEST_TEXT
        ):
            return Known(value.replace(*given))
        if name == "split" and len(given) <= 1 and strings and "" not in given:
            return Listing("list", [Known(w) for w in value.split(*given)[:LONGEST_LIST]])
    if name == "format" and isinstance(value, str):
        for given_value in args:
            interpreter.reads(given_value, "formatting", line)
        return Known(value) if "{" not in value else join_text(value, args, line)
    return Unknown(f"the result of {name}()", line)
