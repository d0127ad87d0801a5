"""NumPy's functions whose shapes are followed, and SciPy's."""

from typing import Any

from tuilab.documents.interpreter import tensors
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import Arguments, handles
from tuilab.documents.interpreter.names import dtype_of
from tuilab.documents.interpreter.tf_tensors import new_shape
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
    Shape,
    Tensor,
    Unknown,
    Value,
    elements,
    integer,
    shape_of,
)

_ELEMENTWISE = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "exp",
    "log",
    "sqrt",
    "square",
    "sin",
    "cos",
    "tanh",
    "abs",
    "maximum",
    "minimum",
    "power",
    "negative",
    "floor",
    "ceil",
    "round",
    "clip",
    "where",
]
_SAMPLES = (
    "mean",
    "median",
    "min",
    "max",
    "std",
    "percentile",
    "amin",
    "amax",
    "sum",
    "quantile",
    "var",
    "average",
)


def array(
    interpreter: Interpreter, kind: Kind, name: str, args: Arguments, shape: Shape | None, dtype: str | None
) -> Tensor:
    """Write the event and give the array that it makes."""
    made = Tensor(shape, dtype, "np")
    interpreter.event(kind, name, args.line, args.values, made)
    return made


@handles("np.random.", "rng.")
def random(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Random arrays: `rand` and `randn` take sides, the others a size."""
    root, _, word = name.rpartition(".")
    if word in ("seed", "shuffle", "set_state"):
        return NONE
    if word in ("default_rng", "RandomState", "Generator"):
        return OpaqueObject("rng", None)
    if interpreter.in_graph():
        interpreter.event(
            "effect", f"{'np.random' if root == 'np.random' else 'generator'}.{word}()", args.line
        )
    if word in ("rand", "randn"):
        sides = [args.values[str(n)] for n in range(len(args.values)) if str(n) in args.values]
        shape: Shape | None = None if args.open else tuple(integer(side) for side in sides)
    else:
        size = args.get("size")
        shape = () if size == NONE else shape_of(size)
    dtype = dtype_of(args.get("dtype"))
    if dtype is None:
        dtype = None if args.given("dtype") else "int64" if word in ("randint", "integers") else "float64"
    return array(interpreter, "host-create", name, args, shape, dtype)


@handles("np.zeros", "np.ones", "np.empty", "np.full", "np.arange", "np.linspace", "np.eye")
def filled(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    shape = shape_of(args.get("shape"))
    dtype = dtype_of(args.get("dtype"))
    default = "float64"
    if name == "np.arange":
        ends = [integer(args.get(p)) for p in ("start", "stop", "step") if args.given(p)]
        count = ends[0] if len(ends) == 1 else None
        if len(ends) == 2 and None not in ends:
            count = max(0, (ends[1] or 0) - (ends[0] or 0))
        shape, default = (count,), tensors.nested_dtype(args.get("start"), "np") or "float64"
    elif name == "np.linspace":
        shape = (integer(args.get("num")) if args.given("num") else 50,)
    elif name == "np.eye":
        shape = (
            integer(args.get("N")),
            integer(args.get("M")) if args.given("M") else integer(args.get("N")),
        )
    elif name == "np.full" and not args.given("dtype"):
        default = tensors.nested_dtype(args.get("fill_value"), "np") or "float64"
    if not args.given("dtype"):
        dtype = default
    return array(interpreter, "host-create", name, args, shape, dtype)


@handles("np.array", "np.asarray", "np.ascontiguousarray")
def from_object(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("object", "a", "0")
    if isinstance(value, Tensor) and value.library == "tf":
        if not value.inside:
            interpreter.sync(f"{name}()", args.line, value)
        return Tensor(value.shape, dtype_of(args.get("dtype")) or value.dtype, "np", value.made)
    if isinstance(value, Many | Listing) and _of_times(value):
        return value
    shape, dtype = (
        tensors.nested_shape(value),
        dtype_of(args.get("dtype")) or tensors.nested_dtype(value, "np"),
    )
    return array(interpreter, "host-create", name, args, shape, dtype)


def _of_times(value: Value) -> bool:
    element = value.element if isinstance(value, Many) else None
    if isinstance(value, Listing) and value.items:
        element = value.items[0]
    return isinstance(element, Elapsed | Clock)


@handles(*(f"np.{dtype}" for dtype in ("float16", "float32", "float64", "int32", "int64", "uint8", "int8")))
def scalar(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("0")
    return value if isinstance(value, Known | Elapsed) else Unknown("a number that is not known", args.line)


@handles("np.matmul", "np.dot")
def matmul(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return tensors.matmul(interpreter, {"a": args.get("0", "a"), "b": args.get("1", "b")}, args.line)


@handles("np.prod", "math.prod")
def product(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    sides = shape_of(args.get("0", "a"))
    total = elements(sides)
    return Known(total) if total is not None else Unknown("a product that is not known", args.line)


@handles(*(f"np.{word}" for word in _SAMPLES), "statistics.")
def statistic(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """A statistic; of measured times, a time."""
    value = args.get("0", "a", "data")
    if isinstance(value, Tensor):
        if value.library == "tf" and not value.inside:
            interpreter.sync(f"{name}()", args.line, value)
        return array(interpreter, "host-op", name, args, (), value.dtype)
    if isinstance(value, Many):
        return value.element
    if isinstance(value, Listing) and value.items:
        return value.items[0]
    return Unknown(f"what {name} gives", args.line)


@handles(*(f"np.{word}" for word in ("reshape", "transpose", "expand_dims", "squeeze")))
def reshaped(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("0", "a")
    if not isinstance(value, Tensor):
        return Unknown(f"what {name} gives", args.line)
    shape = new_shape(name.removeprefix("np."), value.shape, args)
    return array(interpreter, "host-op", name, args, shape, value.dtype)


@handles(*(f"np.{word}" for word in _ELEMENTWISE))
def elementwise(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    values = list(args.values.values())
    if not any(isinstance(v, Tensor) for v in values):
        return Unknown(f"what {name} gives", args.line)
    for value in values:
        if isinstance(value, Tensor) and value.library == "tf" and not value.inside:
            interpreter.sync(f"{name}()", args.line, value)
    made = tensors.elementwise(interpreter, name, values, args.line)
    made.library = "np"
    return made


@handles("scipy.signal.lfilter", "scipy.signal.filtfilt", "np.convolve", "scipy.signal.fftconvolve")
def filtered(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    value = args.get("x", "2") if "lfilter" in name else args.get("0")
    like = value if isinstance(value, Tensor) else None
    return array(
        interpreter, "host-op", name, args, like.shape if like else None, like.dtype if like else None
    )


@handles("np.", "scipy.")
def anything(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Any other function: array work on the host, of a shape that is not followed."""
    word = name.rpartition(".")[2]
    if word in ("set_printoptions", "seterr"):
        return NONE
    values: list[Any] = list(args.values.values())
    for value in values:
        if isinstance(value, Tensor) and value.library == "tf" and not value.inside:
            interpreter.sync(f"{name}()", args.line, value)
    if word in ("allclose", "array_equal", "testing"):
        return Unknown("a condition that is not known", args.line)
    return array(interpreter, "host-op", name, args, None, None)


@handles("math.")
def mathematics(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    import math

    word = name.removeprefix("math.")
    values = [v.value for v in args.values.values() if isinstance(v, Known)]
    if word in ("ceil", "floor", "sqrt", "log2", "log10", "log", "prod", "gcd") and len(values) == len(
        args.values
    ):
        try:
            return Known(getattr(math, word)(*values))
        except (TypeError, ValueError, OverflowError):
            pass
    return Unknown(f"what {name} gives", args.line)


@handles("functools.partial")
def partial(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    from tuilab.documents.interpreter.values import Partial

    rest = [args.values[str(n)] for n in range(1, len(args.values)) if str(n) in args.values]
    named = {k: v for k, v in args.values.items() if not k.isdigit()}
    return Partial(args.get("0"), tuple(rest), named)


@handles("functools.wraps", "functools.lru_cache", "functools.cache")
def keeping(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    target = args.get("0")
    return target if name == "functools.cache" and target != NONE else Api("functools.wraps")
