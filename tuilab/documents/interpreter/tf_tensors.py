"""TensorFlow's functions that make tensors, and those whose shapes are followed."""

from tuilab.documents.interpreter import tensors
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import Arguments, handles
from tuilab.documents.interpreter.names import dtype_of
from tuilab.documents.interpreter.trace import Kind
from tuilab.documents.interpreter.values import (
    NONE,
    Known,
    Listing,
    Shape,
    Tensor,
    Unknown,
    Value,
    elements,
    integer,
    shape_of,
)

ELEMENTWISE = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "truediv",
    "floordiv",
    "divide_no_nan",
    "multiply_no_nan",
    "maximum",
    "minimum",
    "pow",
    "squared_difference",
    "atan2",
    "add_n",
    "negative",
    "abs",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "square",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "sigmoid",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "round",
    "sign",
    "reciprocal",
    "clip_by_value",
    "where",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_not",
    "nn.relu",
    "nn.relu6",
    "nn.elu",
    "nn.selu",
    "nn.gelu",
    "nn.sigmoid",
    "nn.tanh",
    "nn.softmax",
    "nn.leaky_relu",
    "nn.softplus",
    "nn.swish",
    "nn.silu",
    "nn.dropout",
    "stop_gradient",
    "zeros_like",
    "ones_like",
    "identity",
    "cumsum",
    "reverse",
    "roll",
    "sort",
]
REDUCTIONS = [
    "reduce_sum",
    "reduce_mean",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_any",
    "reduce_all",
    "norm",
    "argmax",
]
_TRUTHS = [
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_not",
]


def result(
    interpreter: Interpreter, kind: Kind, name: str, args: Arguments, shape: Shape | None, dtype: str | None
) -> Tensor:
    """Write the event and give the tensor that it makes."""
    inside = any(isinstance(v, Tensor) and v.inside for v in args.values.values())
    made = Tensor(shape, dtype, inside=inside)
    interpreter.event(kind, name, args.line, args.values, made)
    return made


def creation(interpreter: Interpreter) -> Kind:
    """Making a tensor inside a graph is an op of it."""
    return "op" if interpreter.in_graph() else "create"


@handles("tf.constant", "tf.convert_to_tensor", "tf.Variable", "tf.identity_n")
def constant(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("value", "initial_value", "input", "0")
    shape = shape_of(args.get("shape")) if args.given("shape") else tensors.nested_shape(value)
    dtype = dtype_of(args.get("dtype")) or tensors.nested_dtype(value)
    whole = shape_of(args.get("shape"))
    shape = whole if whole is not None and elements(shape) in (1, None) else shape
    from_host = isinstance(value, Tensor) and value.library == "np"
    moved = isinstance(value, Tensor) and value.library == "tf"
    if interpreter.in_graph() or moved:
        kind: Kind = "op" if name == "tf.Variable" or interpreter.in_graph() else "bind"
        made = result(interpreter, kind, name, args, shape, dtype)
        if moved and isinstance(value, Tensor):
            made.made = value.made if name == "tf.convert_to_tensor" else made.made
    else:
        made = result(interpreter, "copy" if from_host else "create", name, args, shape, dtype)
    made.variable = name == "tf.Variable"
    return made


@handles("tf.identity")
def identity(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """`tf.identity` in a device scope is how articles move a tensor."""
    value = args.get("input", "0")
    shape = value.shape if isinstance(value, Tensor) else tensors.nested_shape(value)
    dtype = value.dtype if isinstance(value, Tensor) else tensors.nested_dtype(value)
    kind: Kind = "copy" if interpreter.place.devices and not interpreter.in_graph() else "op"
    return result(interpreter, kind, name, args, shape, dtype)


@handles("tf.zeros", "tf.ones", "tf.fill", "tf.eye")
def filled(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    shape = shape_of(args.get("shape", "dims", "0"))
    if name == "tf.eye":
        rows = integer(args.get("num_rows"))
        columns = args.get("num_columns")
        shape = (rows, rows if columns == NONE else integer(columns))
    dtype = dtype_of(args.get("dtype"))
    if dtype is None and not args.given("dtype"):
        dtype = tensors.nested_dtype(args.get("value")) if name == "tf.fill" else "float32"
    return result(interpreter, creation(interpreter), name, args, shape, dtype)


@handles("tf.random.", "tf.truncated_normal", "tf.random_normal", "tf.random_uniform")
def random(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if name.endswith(("set_seed", "set_random_seed")):
        interpreter.event("config", name, args.line)
        return NONE
    if name.rpartition(".")[2][:1].isupper():
        return Unknown(f"what {name} gives", args.line)
    dtype = dtype_of(args.get("dtype"))
    if dtype is None and not args.given("dtype"):
        dtype = "float32"
    shape = shape_of(args.get("shape", "0"))
    return result(interpreter, creation(interpreter), name, args, shape, dtype)


@handles("tf.range", "tf.linspace")
def spaced(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    count: int | None = None
    if name == "tf.linspace":
        count = integer(args.get("num"))
    else:
        numbers = [integer(args.get(p)) for p in ("start", "limit", "delta") if args.given(p)]
        if len(numbers) == 1:
            count = numbers[0]
        elif len(numbers) == 2 and None not in numbers:
            count = max(0, (numbers[1] or 0) - (numbers[0] or 0))
    dtype = dtype_of(args.get("dtype")) or (tensors.nested_dtype(args.get("start")))
    return result(interpreter, creation(interpreter), name, args, (count,), dtype)


@handles("tf.cast", "tf.saturate_cast", "tf.bitcast")
def cast(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("x", "value", "input")
    shape = value.shape if isinstance(value, Tensor) else tensors.nested_shape(value)
    return result(interpreter, "op", name, args, shape, dtype_of(args.get("dtype", "type")))


@handles("tf.matmul", "tf.sparse.sparse_dense_matmul")
def matmul(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if name != "tf.matmul":
        return result(interpreter, "op", name, args, None, None)
    return tensors.matmul(interpreter, args.values, args.line)


@handles(*(f"tf.{word}" for word in ELEMENTWISE if word != "identity"))
def elementwise(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    values = [v for k, v in args.values.items() if k not in ("name", "axis", "rate", "dtype")]
    if args.given("inputs") and isinstance(args.get("inputs"), Listing):
        values = list(args.get("inputs").items)  # type: ignore[attr-defined]
    dtype = "bool" if name.removeprefix("tf.") in _TRUTHS else None
    return tensors.elementwise(interpreter, name, values, args.line, dtype)


@handles(*(f"tf.{word}" for word in REDUCTIONS))
def reduction(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("input_tensor", "input", "tensor", "0")
    axis = args.get("axis")
    shape: Shape | None = () if axis == NONE else None
    at = integer(axis)
    if (
        at is not None
        and isinstance(value, Tensor)
        and value.shape
        and -len(value.shape) <= at < len(value.shape)
    ):
        sides = list(value.shape)
        del sides[at]
        shape = tuple(sides)
    return result(interpreter, "op", name, args, shape, value.dtype if isinstance(value, Tensor) else None)


@handles("tf.reshape", "tf.expand_dims", "tf.squeeze", "tf.transpose", "tf.linalg.matrix_transpose")
def reshaped(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("tensor", "input", "a", "0")
    before = value.shape if isinstance(value, Tensor) else None
    shape = new_shape(name.rpartition(".")[2], before, args)
    return result(interpreter, "op", name, args, shape, value.dtype if isinstance(value, Tensor) else None)


def new_shape(word: str, before: Shape | None, args: Arguments) -> Shape | None:
    """The shape after `reshape`, `expand_dims`, `squeeze` or `transpose`."""
    if word == "reshape":
        wanted = shape_of(args.get("shape", "newshape", "1"))
        if wanted is not None and -1 in wanted:
            known = elements(tuple(s for s in wanted if s != -1))
            total = elements(before)
            free = total // known if total is not None and known else None
            wanted = tuple(free if s == -1 else s for s in wanted)
        return wanted
    if before is None:
        return None
    axis = integer(args.get("axis", "1"))
    if word == "expand_dims" and axis is not None and -len(before) - 1 <= axis <= len(before):
        at = axis if axis >= 0 else len(before) + 1 + axis
        return (*before[:at], 1, *before[at:])
    if word == "squeeze":
        return tuple(s for s in before if s != 1) if not args.given("axis") else None
    if word == "transpose":
        order = shape_of(args.get("perm", "axes", "1"))
        if order is None:
            return before[::-1] if not args.given("perm") else None
        if len(order) == len(before) and all(
            o is not None and -len(before) <= o < len(before) for o in order
        ):
            return tuple(before[o] for o in order if o is not None)
    return None


@handles("tf.concat", "tf.stack")
def joined(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("values")
    parts = value.items if isinstance(value, Listing) and not value.open else []
    shapes = [p.shape for p in parts if isinstance(p, Tensor)]
    axis = integer(args.get("axis")) if args.given("axis") else 0
    shape: Shape | None = None
    if shapes and len(shapes) == len(parts) and axis is not None and shapes[0] is not None:
        first = shapes[0]
        if name == "tf.stack" and axis == 0:
            shape = (len(parts), *first)
        elif name == "tf.concat" and -len(first) <= axis < len(first):
            sides = [s[axis] if s is not None and len(s) == len(first) else None for s in shapes]
            total = None if None in sides else sum(s or 0 for s in sides)
            at = axis % len(first)
            shape = (*first[:at], total, *first[at + 1 :])
    dtype = next((p.dtype for p in parts if isinstance(p, Tensor)), None)
    return result(interpreter, "op", name, args, shape, dtype)


@handles("tf.nn.conv1d", "tf.signal.lfilter")
def filtered(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """A filter: as long as its signal. `tf.signal.lfilter` does not exist, and articles use it as SciPy's."""
    value = args.get("input", "x", "signal", "signals", "2")
    like = value if isinstance(value, Tensor) else None
    shape = like.shape if like is not None else None
    if name == "tf.nn.conv1d":
        kernel = args.get("filters")
        taps = kernel.shape if isinstance(kernel, Tensor) else None
        same = args.get("padding") == Known("SAME") and integer(args.get("stride")) == 1
        if shape is not None and len(shape) == 3:
            channels = taps[-1] if taps is not None and len(taps) == 3 else None
            shape = (shape[0], shape[1] if same else None, channels)
    return result(interpreter, "op", name, args, shape, like.dtype if like is not None else None)


@handles(
    "tf.signal.stft",
    "tf.signal.fft",
    "tf.signal.rfft",
    "tf.signal.ifft",
    "tf.signal.irfft",
    "tf.signal.fft2d",
)
def transform(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("signals", "input", "input_tensor", "0")
    dtype = value.dtype if isinstance(value, Tensor) else None
    wide = {"float32": "complex64", "float64": "complex128"}
    shape = value.shape if isinstance(value, Tensor) and name == "tf.signal.fft" else None
    return result(interpreter, "op", name, args, shape, wide.get(dtype or "", dtype))


@handles("tf.shape", "tf.size", "tf.rank")
def measure(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return Unknown("a shape that is known when it runs", args.line)
