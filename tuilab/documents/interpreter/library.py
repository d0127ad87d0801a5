"""Evaluates calls of imported libraries: binds the arguments to the function's real signature, then calls
the handler for that library.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tuilab.documents.interpreter.interpreter import Interpreter, Keywords, calls_of
from tuilab.documents.interpreter.trace import Kind
from tuilab.documents.interpreter.unread import assumes_keras, makes_model
from tuilab.documents.interpreter.values import NONE, Api, Model, Unknown, Value
from tuilab.documents.words import words
from tuilab.model.api import Signature

# The key for arguments that a call does not list individually (`*args`, `**options`).
OPEN = "**"

# Parameter names of functions in NumPy and the standard library whose arguments are read by name.
SIGNATURES = {
    "np.array": "object dtype",
    "np.asarray": "a dtype",
    "np.ascontiguousarray": "a dtype",
    "np.zeros": "shape dtype",
    "np.ones": "shape dtype",
    "np.empty": "shape dtype",
    "np.full": "shape fill_value dtype",
    "np.arange": "start stop step dtype",
    "np.linspace": "start stop num endpoint retstep dtype",
    "np.eye": "N M k dtype",
    "np.random.normal": "loc scale size",
    "np.random.uniform": "low high size",
    "np.random.randint": "low high size dtype",
    "np.random.random": "size",
    "np.random.random_sample": "size",
    "np.random.standard_normal": "size dtype",
    "np.random.default_rng": "seed",
    "timeit.timeit": "stmt setup timer number globals",
    "timeit.repeat": "stmt setup timer repeat number globals",
    "timeit.Timer": "stmt setup timer globals",
    "time.sleep": "secs",
    "zlib.compress": "data level wbits",
    "zlib.decompress": "data wbits",
    "gzip.compress": "data compresslevel",
    "gzip.decompress": "data",
    "scipy.signal.lfilter": "b a x axis zi",
    "rng.normal": "loc scale size",
    "rng.uniform": "low high size",
    "rng.integers": "low high size dtype",
    "rng.random": "size dtype",
    "rng.standard_normal": "size dtype",
}


@dataclass
class Arguments:
    """The arguments of a call, keyed by parameter name, or by position if the name is unknown.

    open: the call also passes unknown arguments (`*args`, `**options`), which may include any parameter.
    """

    line: int
    values: dict[str, Value] = field(default_factory=dict)
    open: bool = False

    def get(self, *names: str, default: Value = NONE) -> Value:
        """Return the argument of the first of these parameters that the call passes; `default` if it passes
        none.
        """
        for name in names:
            if name in self.values:
                return self.values[name]
        return Unknown("it comes from unknown arguments", self.line) if self.open else default

    def read(self, interpreter: Interpreter, how: str) -> None:
        for value in self.values.values():
            interpreter.reads(value, how, self.line)

    def has(self, name: str) -> bool:
        return name in self.values


Handler = Callable[[Interpreter, str, Arguments], Value]
HANDLERS: dict[str, Handler] = {}
# Handlers by prefix of the function's name, longest first.
PREFIXES: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Decorator: register a handler for functions. A name ending in `.` stands for all names below it."""

    def register(function: Handler) -> Handler:
        for name in names:
            (PREFIXES if name.endswith(".") else HANDLERS)[name] = function
        return function

    return register


@calls_of(Api)
def call(interpreter: Interpreter, api: Api, args: list[Value], keywords: Keywords, line: int) -> Value:
    name = api.name
    interpreter.dates(*args, *keywords.values())
    bound = bind(interpreter, name, args, keywords, line)
    handler = HANDLERS.get(name) or HANDLERS.get(short(name))
    if handler is not None:
        return handler(interpreter, name if name in HANDLERS else short(name), bound)
    # Treat a name under tf.compat.v1 like the same name without that prefix.
    known = short(name)
    root = known
    while root:
        root = root.rpartition(".")[0]
        if root + "." in PREFIXES:
            usual = root != "tf" or name.startswith("tf.compat.v1.")
            return PREFIXES[root + "."](interpreter, known if usual else name, bound)
    interpreter.spans(*args, *keywords.values())
    interpreter.record_printed([*args, *keywords.values()], line)
    if makes_model(name) and assumes_keras(interpreter.imported) and not interpreter.deferred:
        made = Model([], line, open=True, assumed=True)
        return record(interpreter, "build", name, bound, made)
    return record(interpreter, "opaque", name, bound)


def record(
    interpreter: Interpreter, kind: Kind, name: str, args: Arguments, result: Value | None = None
) -> Value:
    """Record a call, and return its result; an unknown value if the result is None."""
    interpreter.event(kind, name, args.line, args.values, result)
    return Unknown(f"the result of {name}", args.line) if result is None else result


_USUAL = {
    **dict.fromkeys(("tf.compat.v1.", "tf.math.", "tf.linalg.", "tf.dtypes."), "tf."),
    "tf.experimental.numpy.": "np.",
    "tf.spectral.": "tf.signal.",
}


# Namespaces in which TensorFlow exposes Keras classes. The functions there come from version 1.
_KERAS = ("tf.optimizers.", "tf.losses.", "tf.metrics.", "tf.initializers.")


def short(name: str) -> str:
    """Return the usual name for an alias: `tf.math.add` → `tf.add`."""
    if name.startswith(_KERAS) and name.rpartition(".")[2][:1].isupper():
        return f"tf.keras.{name.removeprefix('tf.')}"
    elsewhere = next((prefix for prefix in _USUAL if name.startswith(prefix)), "")
    if not elsewhere:
        return name
    return short(_USUAL[elsewhere] + name.removeprefix(elsewhere))


def bind(interpreter: Interpreter, name: str, args: list[Value], keywords: Keywords, line: int) -> Arguments:
    """Bind arguments to parameter names, using the signature in the API table, or else the shipped parameter
    names.
    """
    named = {k: v for k, v in keywords.items() if k != OPEN}
    out = Arguments(line, named, OPEN in keywords)
    signature = interpreter.api.signatures.get(name) if name else None
    if signature is not None:
        _check(interpreter, name, signature, args, out, line)
        names: tuple[str, ...] = signature.parameters[: signature.positional]
    else:
        names = tuple(SIGNATURES.get(name, "").split())
    placed = {names[n] if n < len(names) else str(n): value for n, value in enumerate(args)}
    out.values = placed | named
    return out


# Keywords that all Keras 3 layers accept, or that a few layers accept without listing them as parameters.
_OF_LAYERS = words(
    "name dtype trainable autocast activity_regularizer input_shape input_dim input_length implementation"
    " alpha rms_scaling vocabulary_size has_input_vocabulary training input_tensor"
)
_INSTEAD = {
    "batch_input_shape": "Put keras.Input(batch_shape=…) before the layer.",
    "weights": "Call set_weights() after the layer is built.",
}


def is_keras_3(interpreter: Interpreter) -> bool:
    """Return True if the code uses Keras 3, and not Keras 2 from the package `tf_keras`."""
    return interpreter.api.keras.startswith("3") and not interpreter.imported & {"tf_keras"}


def _check(
    interpreter: Interpreter, name: str, signature: Signature, args: list[Value], given: Arguments, line: int
) -> None:
    """Record the arguments that the function's signature does not accept."""
    # An empty parameter list means that the class's constructor could not be inspected.
    if not signature.parameters and not signature.rest:
        return
    unknown = [k for k in given.values if k not in signature.parameters]
    layer = signature.any_keyword and name.startswith("tf.keras.layers.") and is_keras_3(interpreter)
    layer = layer and not name.endswith(".InputLayer")
    if layer:
        unknown = [k for k in unknown if k not in _OF_LAYERS]
    if unknown and (layer or not signature.any_keyword):
        takes = ", ".join(signature.parameters[:12])
        now = interpreter.api.argument_renames.get(name, {}).get(unknown[0], "")
        known = now in signature.parameters
        remedy = f"Renamed to {now}." if known else f"It takes {takes}."
        remedy = _INSTEAD.get(unknown[0], remedy) if layer else remedy
        detail = f"{name} takes no argument {unknown[0]}"
        # If the call also passes the new name, or several unknown names, the right replacement is unclear.
        new = (unknown[0], now) if known and len(unknown) == 1 and now not in given.values else ("", "")
        interpreter.misfit("argument", line, detail, remedy, at=unknown[0], replace=new)
    if len(args) > signature.positional and not signature.rest:
        detail = f"{name} gets {len(args)} positional arguments but takes {signature.positional}"
        remedy = "Pass the others by name: " + ", ".join(signature.parameters[:12]) + "."
        interpreter.misfit("argument", line, detail, remedy)
