"""Functions that make tensors and arrays, as a table from name to event kind, shape and dtype.

Functions that do more than make a tensor are in `tf_calls`, `keras_calls`, `dataset_calls` and `timers`. Any
other TensorFlow name is an op with an unknown shape.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tuilab.documents.interpreter import tensors
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import Arguments, handles, record
from tuilab.documents.interpreter.names import dtype_of
from tuilab.documents.interpreter.trace import Kind
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Clock,
    Elapsed,
    Known,
    Listing,
    Many,
    OpaqueObject,
    Partial,
    Shape,
    Tensor,
    Unknown,
    Value,
    elements,
    integer,
    shape_of,
)
from tuilab.documents.words import words

ShapeOf = Callable[[Arguments], "Shape | None"]
DtypeOf = Callable[[Arguments], "str | None"]


_SUBJECT = words("input_tensor input tensor x a value image images signals signal object contents 0")


def subject(args: Arguments) -> Value:
    """Return the main argument of a tensor function, whose name differs between libraries."""
    return next((args.values[name] for name in _SUBJECT if name in args.values), NONE)


def unknown(args: Arguments) -> None: ...


def scalar(args: Arguments) -> Shape:
    return ()


def same(args: Arguments) -> Shape | None:
    value = subject(args)
    return value.shape if isinstance(value, Tensor) else tensors.nested_shape(value)


def like(args: Arguments) -> str | None:
    """Return the dtype of the first tensor among the arguments, else the dtype of the main argument."""
    found = [v for v in args.values.values() if isinstance(v, Tensor)]
    value = subject(args)
    return found[0].dtype if found else tensors.nested_dtype(value)


def always(dtype: str) -> DtypeOf:
    return lambda args: dtype


def requested_dtype(default: str | None) -> DtypeOf:
    """Return a function that returns a call's requested dtype: `default` if the call requests none, None if
    unknown.
    """
    return lambda args: dtype_of(args.get("dtype")) if args.has("dtype") else default


def broadcast(args: Arguments) -> Shape | None:
    values = [v for k, v in args.values.items() if k not in ("name", "axis", "rate", "dtype")]
    if len(values) == 1 and isinstance(values[0], Listing):
        values = list(values[0].items)
    return tensors.broadcast_values(values)


def reduced(args: Arguments) -> Shape | None:
    """Return the shape of a reduction's result: the input's shape without the reduced axis. Without an axis,
    the result is a scalar.
    """
    value, axis = subject(args), args.get("axis", "reduction_indices")
    if axis == NONE:
        return ()
    at = integer(axis)
    if at is None or not isinstance(value, Tensor) or not value.shape:
        return None
    if not -len(value.shape) <= at < len(value.shape):
        return None
    sides = list(value.shape)
    del sides[at]
    return tuple(sides)


def given_shape(args: Arguments) -> Shape | None:
    return shape_of(args.get("shape", "dims", "0"))


def given_size(args: Arguments) -> Shape | None:
    """Return the shape in NumPy's `size` argument; a scalar's shape if the call has no `size`."""
    size = args.get("size")
    return () if size == NONE else shape_of(size)


def given_sides(args: Arguments) -> Shape | None:
    return None if args.open else tuple(integer(v) for k, v in args.values.items() if k.isdigit())


def square(args: Arguments) -> Shape | None:
    rows = integer(args.get("num_rows", "N"))
    columns = args.get("num_columns", "M")
    return (rows, rows if columns == NONE else integer(columns))


def counted(args: Arguments) -> Shape:
    """Return the shape of `range` and `arange`: known for integer arguments and a step of one."""
    ends = [
        integer(args.get(*p)) for p in (("start",), ("limit", "stop")) if args.has(p[0]) or args.has(p[-1])
    ]
    if args.has("delta") or args.has("step") or None in ends or not ends:
        return (None,)
    return (ends[0] if len(ends) == 1 else max(0, (ends[1] or 0) - (ends[0] or 0)),)


def spaced(args: Arguments) -> Shape:
    return (integer(args.get("num")) if args.has("num") else 50,)


def filled_dtype(library: Literal["tf", "np"]) -> DtypeOf:
    """Return a function that returns the dtype of a call's result: the requested dtype, or else the dtype
    that the library infers from the fill value.
    """
    default = "float64" if library == "np" else None
    return lambda args: (
        dtype_of(args.get("dtype"))
        if args.has("dtype")
        else tensors.nested_dtype(args.get("value", "fill_value", "start"), library) or default
    )


def reshaped(args: Arguments) -> Shape | None:
    wanted = shape_of(args.get("shape", "newshape", "1"))
    if wanted is not None and -1 in wanted:
        known = elements(tuple(s for s in wanted if s != -1))
        total = elements(same(args))
        free = total // known if total is not None and known else None
        return tuple(free if s == -1 else s for s in wanted)
    return wanted


def expanded(args: Arguments) -> Shape | None:
    before, axis = same(args), integer(args.get("axis", "1"))
    if before is None or axis is None or not -len(before) - 1 <= axis <= len(before):
        return None
    at = axis if axis >= 0 else len(before) + 1 + axis
    return (*before[:at], 1, *before[at:])


def squeezed(args: Arguments) -> Shape | None:
    before = same(args)
    return None if before is None or args.has("axis") else tuple(s for s in before if s != 1)


def transposed(args: Arguments) -> Shape | None:
    """Return the shape of a transposed tensor: its dimensions in reverse, or in the requested order."""
    before, given = same(args), args.get("perm", "axes", "1")
    order = shape_of(given)
    if before is None or given == NONE:
        return before[::-1] if before is not None else None
    if order is None or len(order) != len(before):
        return None
    if any(o is None or not -len(before) <= o < len(before) for o in order):
        return None
    return tuple(before[o] for o in order if o is not None)


def _parts(args: Arguments) -> list[Tensor]:
    value = args.get("values", "0")
    items = value.items if isinstance(value, Listing) and not value.open else []
    return [p for p in items if isinstance(p, Tensor)] if all(isinstance(p, Tensor) for p in items) else []


def _axis(args: Arguments) -> int | None:
    return integer(args.get("axis")) if args.has("axis") else 0


def stacked(args: Arguments) -> Shape | None:
    """Return the shape of `stack` along axis 0: the number of tensors, then the shape of the first tensor."""
    parts = _parts(args)
    first = parts[0].shape if parts else None
    return (len(parts), *first) if first is not None and _axis(args) == 0 else None


def joined(args: Arguments) -> Shape | None:
    """Return the shape of concatenated tensors: the first tensor's shape, with the sum of all sizes along the
    axis.
    """
    parts, axis = _parts(args), _axis(args)
    first = parts[0].shape if parts else None
    if first is None or axis is None or not -len(first) <= axis < len(first):
        return None
    sides = [p.shape[axis] if p.shape is not None and len(p.shape) == len(first) else None for p in parts]
    at = axis % len(first)
    return (*first[:at], None if None in sides else sum(s or 0 for s in sides), *first[at + 1 :])


def joined_dtype(args: Arguments) -> str | None:
    parts = _parts(args)
    return parts[0].dtype if parts else None


def convolved(args: Arguments) -> Shape | None:
    """Return the shape of the result of `tf.nn.conv1d` for an input of shape (batch, length, channels).

    The length is known for padding SAME and stride 1; otherwise it is None.
    """
    before, kernel = same(args), args.get("filters")
    taps = kernel.shape if isinstance(kernel, Tensor) else None
    if before is None or len(before) != 3:
        return before
    kept = args.get("padding") == Known("SAME") and integer(args.get("stride")) == 1
    channels = taps[-1] if taps is not None and len(taps) == 3 else None
    return (before[0], before[1] if kept else None, channels)


def signal(args: Arguments) -> Shape | None:
    value = args.get("input", "x", "signal", "signals", "2")
    return value.shape if isinstance(value, Tensor) else None


def signal_dtype(args: Arguments) -> str | None:
    value = args.get("input", "x", "signal", "signals", "2")
    return value.dtype if isinstance(value, Tensor) else None


def spectrum_dtype(args: Arguments) -> str | None:
    dtype = like(args)
    return {"float32": "complex64", "float64": "complex128"}.get(dtype or "", dtype)


def resized(args: Arguments) -> Shape | None:
    size = args.get("size")
    sides = [integer(s) for s in size.items] if isinstance(size, Listing) else []
    return (*sides, integer(args.get("channels")) or 3) if len(sides) == 2 else None


@dataclass(frozen=True)
class Op:
    """A row of the table: the kind of event, and the known facts about the result."""

    kind: Kind
    shape: ShapeOf = unknown
    dtype: DtypeOf = like
    library: Literal["tf", "np"] = "tf"


def _rows(prefix: str, words: str, op: Op) -> dict[str, Op]:
    return {prefix + word: op for word in words.split()}


_FUNCTIONS = """add subtract multiply divide truediv floordiv divide_no_nan multiply_no_nan maximum
    minimum pow squared_difference atan2 add_n negative abs exp expm1 log log1p sqrt
    rsqrt square sin cos tan asin acos atan sinh cosh tanh sigmoid erf erfc floor ceil
    round sign reciprocal clip_by_value where nn.relu nn.relu6 nn.elu nn.selu nn.gelu
    nn.sigmoid nn.tanh nn.softmax nn.leaky_relu nn.softplus nn.swish nn.silu nn.dropout
    stop_gradient zeros_like ones_like cumsum reverse roll sort"""
_CONDITIONS = "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not"
_REDUCTIONS = "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_any reduce_all norm argmax"
_IMAGES = """random_brightness adjust_brightness random_flip_left_right random_flip_up_down flip_left_right
    flip_up_down random_contrast random_saturation random_hue per_image_standardization"""
_HOST = Op("host-op", broadcast, like, "np")
_DRAWN = Op("host-create", given_size, requested_dtype("float64"), "np")

# A name that ends in a dot covers every name with this prefix that has no row of its own.
TABLE: dict[str, Op] = {
    **_rows("tf.", _FUNCTIONS, Op("op", broadcast)),
    **_rows("tf.", _CONDITIONS, Op("op", broadcast, always("bool"))),
    **_rows("tf.", _REDUCTIONS, Op("op", reduced)),
    **_rows("tf.", "zeros ones", Op("create", given_shape, requested_dtype("float32"))),
    "tf.fill": Op("create", given_shape, filled_dtype("tf")),
    "tf.eye": Op("create", square, requested_dtype("float32")),
    "tf.range": Op("create", counted, filled_dtype("tf")),
    "tf.linspace": Op("create", spaced, filled_dtype("tf")),
    **_rows(
        "tf.",
        "truncated_normal random_normal random_uniform",
        Op("create", given_shape, requested_dtype("float32")),
    ),
    "tf.random.": Op("create", given_shape, requested_dtype("float32")),
    **_rows("tf.", "cast saturate_cast bitcast", Op("op", same, lambda a: dtype_of(a.get("dtype", "type")))),
    "tf.reshape": Op("op", reshaped),
    "tf.expand_dims": Op("op", expanded),
    "tf.squeeze": Op("op", squeezed),
    **_rows("tf.", "transpose linalg.matrix_transpose", Op("op", transposed)),
    "tf.stack": Op("op", stacked, joined_dtype),
    "tf.concat": Op("op", joined, joined_dtype),
    "tf.nn.conv1d": Op("op", convolved),
    # This function does not exist; articles use it as if it were SciPy's.
    "tf.signal.lfilter": Op("op", signal, signal_dtype),
    "tf.signal.fft": Op("op", same, spectrum_dtype),
    **_rows("tf.signal.", "stft rfft ifft irfft fft2d", Op("op", unknown, spectrum_dtype)),
    **_rows("tf.image.", _IMAGES, Op("op", same)),
    "tf.image.resize": Op("op", resized, always("float32")),
    **_rows(
        "tf.",
        "io.decode_jpeg io.decode_png image.decode_jpeg io.decode_image",
        Op("op", unknown, always("uint8")),
    ),
    **_rows(
        "tf.io.", "decode_raw parse_tensor", Op("op", unknown, lambda a: dtype_of(a.get("out_type", "1")))
    ),
    **_rows("tf.io.", "compress decompress decode_compressed", Op("op", unknown, always("string"))),
    **_rows("np.", "zeros ones empty", Op("host-create", given_shape, requested_dtype("float64"), "np")),
    "np.full": Op("host-create", given_shape, filled_dtype("np"), "np"),
    "np.eye": Op("host-create", square, requested_dtype("float64"), "np"),
    "np.arange": Op("host-create", counted, filled_dtype("np"), "np"),
    "np.linspace": Op("host-create", spaced, requested_dtype("float64"), "np"),
    "np.random.": _DRAWN,
    "rng.": _DRAWN,
    **_rows("np.random.", "rand randn", Op("host-create", given_sides, always("float64"), "np")),
    **_rows(
        "", "np.random.randint rng.integers", Op("host-create", given_size, requested_dtype("int64"), "np")
    ),
    **_rows("np.", "reshape", Op("host-op", reshaped, like, "np")),
    **_rows("np.", "transpose", Op("host-op", transposed, like, "np")),
    **_rows("np.", "expand_dims", Op("host-op", expanded, like, "np")),
    **_rows("np.", "squeeze", Op("host-op", squeezed, like, "np")),
    **_rows(
        "np.",
        """add subtract multiply divide exp log sqrt square sin cos tanh abs maximum minimum power negative
        floor ceil round clip where""",
        _HOST,
    ),
    **_rows("", "scipy.signal.lfilter scipy.signal.filtfilt", Op("host-op", signal, signal_dtype, "np")),
    **_rows("", "np.convolve scipy.signal.fftconvolve", Op("host-op", same, like, "np")),
    "np.": Op("host-op", unknown, unknown, "np"),
    "scipy.": Op("host-op", unknown, unknown, "np"),
}


@handles(*TABLE)
def tabled(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return make(interpreter, name, args, _row(name))


def _row(name: str) -> Op:
    found = TABLE.get(name)
    while found is None:
        name = name.rstrip(".").rpartition(".")[0] + "."
        found = TABLE.get(name)
    return found


def make(interpreter: Interpreter, name: str, args: Arguments, op: Op) -> Value:
    """Record the event, and return the tensor that it creates. A NumPy function waits until its tensor
    arguments are computed.

    In a graph, creating a tensor is an op, while NumPy draws random numbers only once, during tracing.
    """
    word = name.rpartition(".")[2]
    if word in _NOTHING:
        return NONE if op.library == "np" else _configured(interpreter, name, args)
    if word[:1].isupper():
        return Unknown(f"the result of {name}", args.line)
    if op.library == "np":
        if interpreter.in_graph() and op is not TABLE["np."] and name.startswith(("np.random.", "rng.")):
            root = "np.random" if name.startswith("np.random.") else "generator"
            interpreter.event("effect", f"{root}.{word}()", args.line)
        args.read(interpreter, f"{name}()")
    kind: Kind = "op" if op.kind == "create" and interpreter.in_graph() else op.kind
    inside = op.library == "tf" and any(isinstance(v, Tensor) and v.inside for v in args.values.values())
    made = Tensor(op.shape(args), op.dtype(args), op.library, inside=inside)
    return record(interpreter, kind, name, args, made)


_NOTHING = ("seed", "shuffle", "set_state", "set_printoptions", "seterr", "set_seed", "set_random_seed")


def _configured(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    interpreter.event("config", name, args.line)
    return NONE


@handles("np.random.default_rng", "np.random.RandomState", "np.random.Generator")
def generator(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("rng", None)


@handles("tf.random.Generator", "tf.random.get_global_generator", "tf.random.Generator.")
def tf_generator(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("tf-rng", None)


@handles("np.append")
def appended(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    for value in args.values.values():
        interpreter.gather(value)
    return make(interpreter, name, args, TABLE["np."])


# PyTorch functions are treated like NumPy's: on the CPU, a call returns only when its result is complete.
_TORCH = {
    **_rows(
        "torch.",
        "rand randn ones zeros empty",
        Op("host-create", given_sides, requested_dtype("float32"), "np"),
    ),
    **_rows("torch.", "matmul mm mul add sub div", Op("host-op", unknown, like, "np")),
}


@handles(*_TORCH)
def torch_tensor(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if args.has("device"):
        return record(interpreter, "opaque", name, args)
    size = args.get("0", "size")
    if isinstance(size, Listing):
        args.values = {str(number): side for number, side in enumerate(size.items)}
    return make(interpreter, name, args, _TORCH[name])


@handles("np.allclose", "np.array_equal", "np.testing.")
def compared(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    args.read(interpreter, f"{name}()")
    return Unknown("an unknown condition", args.line)


@handles("tf.constant", "tf.convert_to_tensor", "tf.Variable", "tf.identity_n")
def constant(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a call that makes a tensor from a value: it creates the tensor, copies it from the host, or
    returns the tensor that it received.
    """
    value = args.get("value", "initial_value", "input", "0")
    second = args.get("1")
    if name == "tf.Variable" and isinstance(second, Api) and dtype_of(second):
        interpreter.misfit(
            "type",
            args.line,
            f"{second.name} is passed as the argument `trainable` of tf.Variable, not as its dtype",
            f"Write dtype={second.name}.",
        )
    shape = shape_of(args.get("shape")) if args.has("shape") else tensors.nested_shape(value)
    dtype = dtype_of(args.get("dtype")) or tensors.nested_dtype(value)
    moved = isinstance(value, Tensor) and value.library == "tf"
    kind: Kind = "copy" if isinstance(value, Tensor) else "create"
    if interpreter.in_graph() or moved:
        kind = "op" if name == "tf.Variable" or interpreter.in_graph() else "bind"
    inside = isinstance(value, Tensor) and value.inside
    made = Tensor(shape, dtype, inside=inside)
    interpreter.event(kind, name, args.line, args.values, made)
    if moved and isinstance(value, Tensor) and name == "tf.convert_to_tensor" and kind == "bind":
        made.made = value.made
    return made


@handles("tf.identity")
def identity(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate `tf.identity`, which articles use to move a tensor to the device of a scope."""
    moves = bool(interpreter.place.devices) and not interpreter.in_graph()
    return make(interpreter, name, args, Op("copy" if moves else "op", same))


@handles("tf.matmul")
def matmul(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return tensors.matmul(interpreter, args.values, args.line, called="tf")


@handles("np.matmul", "np.dot")
def host_matmul(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    sides = {"a": args.get("0", "a"), "b": args.get("1", "b")}
    for value in sides.values():
        interpreter.reads(value, f"{name}()", args.line)
    return tensors.matmul(interpreter, sides, args.line, called="np")


@handles("tf.shape", "tf.size", "tf.rank")
def measured(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return Unknown("a shape known only at run time", args.line)


@handles("np.array", "np.asarray", "np.ascontiguousarray")
def from_object(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a call that makes an array from a list or a tensor. The call waits until the tensor is
    computed. An array of measured times counts as a measured time.
    """
    value = args.get("object", "a", "0")
    interpreter.reads(value, f"{name}()", args.line)
    if isinstance(value, Tensor) and value.library == "tf":
        return Tensor(value.shape, dtype_of(args.get("dtype")) or value.dtype, "np", value.made)
    if isinstance(value, Many | Listing) and _holds_times(value):
        return value
    shape = tensors.nested_shape(value)
    dtype = dtype_of(args.get("dtype")) or tensors.nested_dtype(value, "np")
    return record(interpreter, "host-create", name, args, Tensor(shape, dtype, "np"))


def _holds_times(value: Value) -> bool:
    element = value.element if isinstance(value, Many) else None
    if isinstance(value, Listing) and value.items:
        element = value.items[0]
    return isinstance(element, Elapsed | Clock)


@handles(*(f"np.{dtype}" for dtype in ("float16", "float32", "float64", "int32", "int64", "uint8", "int8")))
def number(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("0")
    interpreter.reads(value, f"{name}()", args.line)
    return value if isinstance(value, Known | Elapsed) else Unknown("an unknown number", args.line)


@handles("np.prod", "math.prod")
def product(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    total = elements(shape_of(args.get("0", "a")))
    return Known(total) if total is not None else Unknown("an unknown product", args.line)


_SAMPLES = "mean median min max std percentile amin amax sum quantile var average"


@handles(*(f"np.{word}" for word in _SAMPLES.split()), "statistics.")
def statistic(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a statistic. A statistic of measured times counts as a measured time."""
    value = args.get("0", "a", "data")
    interpreter.reads(value, f"{name}()", args.line)
    if isinstance(value, Tensor):
        return make(interpreter, name, args, Op("host-op", scalar, like, "np"))
    if isinstance(value, Many):
        return value.element
    if isinstance(value, Listing) and value.items:
        return value.items[0]
    return Unknown(f"the result of {name}", args.line)


@handles("math.")
def mathematics(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    word = name.removeprefix("math.")
    values = [v.value for v in args.values.values() if isinstance(v, Known)]
    known = ("ceil", "floor", "sqrt", "log2", "log10", "log", "prod", "gcd")
    if word in known and len(values) == len(args.values):
        try:
            return Known(getattr(math, word)(*values))
        except (TypeError, ValueError, OverflowError):
            pass
    return Unknown(f"the result of {name}", args.line)


@handles("functools.partial")
def partial(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    rest = [args.values[str(n)] for n in range(1, len(args.values)) if str(n) in args.values]
    named = {k: v for k, v in args.values.items() if not k.isdigit()}
    return Partial(args.get("0"), tuple(rest), named)


@handles("functools.wraps", "functools.lru_cache", "functools.cache")
def keeping(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    target = args.get("0")
    return target if name == "functools.cache" and target != NONE else Api("functools.wraps")
