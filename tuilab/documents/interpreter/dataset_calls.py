"""Evaluates `tf.data`: sources and pipeline steps. Mapped functions are interpreted once, as TensorFlow
traces them.
"""

from tuilab.documents.interpreter.interpreter import Interpreter, Keywords
from tuilab.documents.interpreter.library import Arguments, bind, handles, record
from tuilab.documents.interpreter.names import dtype_of
from tuilab.documents.interpreter.trace import Traced
from tuilab.documents.interpreter.values import (
    Api,
    Bound,
    Dataset,
    Function,
    Graph,
    Known,
    Listing,
    Mapping,
    OpaqueObject,
    Partial,
    Step,
    Tensor,
    Unknown,
    Value,
    integer,
    map_tensors,
    truth,
)
from tuilab.documents.words import words

DATASET = "tf.data.Dataset"
MOST_STEPS = 64
_CALLABLE = (Function, Graph, Bound, Partial)
# Methods whose elements come from the pipelines that their function returns.
_REPLACES = ("flat_map", "interleave")
# Methods that trace their function into the pipeline's graph.
_TRACES = ("map", "filter", "flat_map", "interleave", "reduce", "scan", "take_while", "group_by_window")


@handles("tf.data.")
def other(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if name.endswith("Options"):
        return OpaqueObject("object", name)
    if name.rpartition(".")[2].endswith("Dataset"):
        return source(interpreter, name, args)
    return record(interpreter, "dataset", name, args)


@handles(
    *words(
        "tf.data.Dataset.from_tensor_slices tf.data.Dataset.from_tensors tf.data.Dataset.from_generator",
        "tf.data.Dataset.range tf.data.Dataset.list_files tf.data.Dataset.zip tf.data.TFRecordDataset",
        "tf.data.TextLineDataset",
    )
)
def source(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    word = name.removeprefix(DATASET + ".").rpartition(".")[2]
    event = interpreter.event("dataset", name, args.line, args.values)
    return Dataset((Step(word, args.values, args.line, event.index),), _element(interpreter, word, args))


@handles("tensorflow_datasets.load")
def prepared(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Return a pipeline for each requested split of a `tensorflow_datasets` data set."""
    event = interpreter.event("opaque", name, args.line, args.values)

    def pipeline() -> Dataset:
        element: Value = Unknown("a row", args.line)
        if truth(args.get("as_supervised")) is True:
            element = Listing("tuple", [Tensor(None, None, inside=True) for _ in range(2)])
        return Dataset((Step(name, args.values, args.line, event.index),), element)

    split = args.get("split", "1")
    parts: Value = Unknown(f"the result of {name}", args.line)
    if isinstance(split, Listing) and not split.open:
        parts = Listing("list", [pipeline() for _ in split.items[:16]])
    elif isinstance(split, Known) and isinstance(split.value, str):
        parts = pipeline()
    if truth(args.get("with_info")) is True:
        return Listing("tuple", [parts, Unknown(f"the result of {name}", args.line)])
    return parts


def _element(interpreter: Interpreter, word: str, args: Arguments) -> Value:
    if word == "from_tensor_slices":
        return _rows(args.get("tensors", "0"))
    if word == "from_tensors":
        return _symbolic(args.get("tensors", "0"))
    if word == "range":
        return Tensor((), "int64", inside=True)
    if word in ("TFRecordDataset", "TextLineDataset", "list_files"):
        return Tensor((), "string", inside=True)
    if word == "from_generator":
        _read_generator(interpreter, args)
    if word == "zip":
        parts = args.get("datasets", "0")
        listed = (
            parts.items if isinstance(parts, Listing) else [v for k, v in args.values.items() if k.isdigit()]
        )
        if listed and all(isinstance(p, Dataset) for p in listed):
            return Listing("tuple", [p.element for p in listed if isinstance(p, Dataset)])
    return Unknown("the result of this pipeline", args.line)


def _read_generator(interpreter: Interpreter, args: Arguments) -> None:
    target = args.get("generator", "0")
    if isinstance(target, _CALLABLE):
        interpreter.call(target, [], {}, args.line)


def _rows(value: Value) -> Value:
    """Return the value with each tensor replaced by one of its rows, as in an element of
    `from_tensor_slices`.
    """
    match value:
        case Tensor():
            return Tensor(value.shape[1:] if value.shape else None, value.dtype, inside=True)
        case Listing(kind="tuple"):
            return Listing("tuple", [_rows(item) for item in value.items])
        case Mapping():
            return Mapping({k: _rows(v) for k, v in value.items.items()}, value.open)
        case _:
            return Tensor(None, None, inside=True)


def _symbolic(value: Value) -> Value:
    match value:
        case Tensor():
            return Tensor(value.shape, value.dtype, inside=True)
        case Listing():
            return Listing(value.kind, [_symbolic(item) for item in value.items], value.open)
        case _:
            return Tensor(None, None, inside=True)


def method(
    interpreter: Interpreter,
    dataset: Dataset,
    name: str,
    args: list[Value],
    keywords: Keywords,
    line: int,
) -> Value:
    known = f"{DATASET}.{name}"
    interpreter.use(Api(known, f"Dataset.{name}"), line)
    bound = bind(interpreter, known, args, keywords, line)
    if name in ("as_numpy_iterator", "__iter__"):
        return dataset
    if name in ("make_one_shot_iterator", "make_initializable_iterator"):
        return OpaqueObject("iterator", dataset)
    if name == "cardinality":
        return Unknown("a number of elements", line)
    if name == "reduce":
        interpreter.event("iterate", DATASET, line, {"dataset": dataset})
        _trace_mapped(interpreter, name, bound, [bound.get("initial_state"), dataset.element])
        return Tensor(None, None, made=len(interpreter.trace.events) - 1)
    event = interpreter.event("dataset", known, line, bound.values)
    if len(dataset.steps) >= MOST_STEPS:
        return Unknown("a pipeline with too many steps", line)
    step = Step(name, bound.values, line, event.index)
    return Dataset((*dataset.steps, step), _after(interpreter, dataset, name, bound))


def _after(interpreter: Interpreter, dataset: Dataset, name: str, args: Arguments) -> Value:
    element = dataset.element
    if name in _TRACES:
        spread = element.items if isinstance(element, Listing) and element.kind == "tuple" else [element]
        result = _trace_mapped(interpreter, name, args, list(spread))
        if name == "map":
            return result
        return Unknown("the result of this pipeline", args.line) if name in _REPLACES else element
    if name in ("batch", "padded_batch"):
        return _batch_elements(element, integer(args.get("batch_size", "0")))
    if name == "enumerate":
        return Listing("tuple", [Tensor((), "int64", inside=True), element])
    if name == "apply":
        return Unknown("the result of this pipeline", args.line)
    return element


def _trace_mapped(interpreter: Interpreter, name: str, args: Arguments, elements: list[Value]) -> Value:
    target = args.get("map_func", "predicate", "reduce_func", "scan_func", "0")
    if not isinstance(target, _CALLABLE):
        return Unknown("the result of a mapped function", args.line)
    taken = _most_positional(target)
    if name == "map" and taken is not None and len(elements) > taken:
        interpreter.misfit(
            "type",
            args.line,
            f"map() passes the function {len(elements)} arguments, one for each part of an element, but it "
            f"takes {taken}",
            "Define one parameter for each part.",
        )
    with interpreter.at(traced=Traced(f"Dataset.{name}", args.line), devices=(), loops=()):
        return interpreter.call(target, elements, {}, args.line)


def _most_positional(target: Value) -> int | None:
    if not isinstance(target, Function) or target.kind != "plain":
        return None
    given = target.node.args
    return None if given.vararg else len(given.posonlyargs) + len(given.args)


def _batch_elements(element: Value, size: int | None) -> Value:
    def batch(row: Tensor) -> Tensor:
        return Tensor((size, *row.shape) if row.shape is not None else None, row.dtype, inside=True)

    return map_tensors(element, batch)


@handles("tf.io.TFRecordWriter", "tf.python_io.TFRecordWriter")
def writer(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    event = interpreter.event("config", "tf.io.TFRecordWriter", args.line, args.values)
    return OpaqueObject("writer", event.index)


@handles("tf.io.parse_single_example", "tf.io.parse_example")
def parsed(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    features = args.get("features")
    inside = interpreter.in_graph() is not None
    interpreter.event("op", name, args.line, args.values)
    if not isinstance(features, Mapping):
        return Mapping({}, open=True)
    out: dict[object, Value] = {}
    for key, value in features.items.items():
        shape, dtype = (
            value.data if isinstance(value, OpaqueObject) and value.kind == "feature" else (None, None)
        )
        out[key] = Tensor(shape, dtype, inside=inside)
    return Mapping(out)


@handles("tf.io.FixedLenFeature", "tf.io.VarLenFeature")
def feature(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    shape = args.get("shape")
    sides = tuple(integer(s) for s in shape.items) if isinstance(shape, Listing) else None
    return OpaqueObject("feature", (sides, dtype_of(args.get("dtype"))))
