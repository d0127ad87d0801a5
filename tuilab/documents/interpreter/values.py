"""The possible values of a name while code is read without running it."""

import ast
from dataclasses import dataclass, field
from typing import Any, Literal

Shape = tuple[int | None, ...]
RESULT_OF = "the result of "
"""How the reason of an unread call's result starts."""


class Value:
    """The value of an expression."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Known(Value):
    """A Python constant: number, text, bytes, bool, None, Ellipsis."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unknown(Value):
    """Something unresolved, why, and where. options: its possible values, if known."""

    reason: str
    line: int
    options: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Number(Unknown):
    """An unknown Python number or bool. Reading it does not wait."""


VARIES, COUNTING = "it changes from one iteration to the next", "it counts the iterations"
# Reason for an unknown number: it changes per iteration.
COUNTS = (VARIES, COUNTING)


@dataclass(frozen=True, slots=True)
class Told(Unknown):
    """A partly unknown text.

    words: what is known of it, with `{}` for the rest; times: the regions in it.
    """

    words: str = ""
    times: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Api(Value):
    """Something of an imported library, by its canonical dotted name: `tf.signal.stft`, `time.time`.

    spelled: as in the source (`K.get_value`). real: the name in another library, if the canonical name stands
    for it (`keras.saving`, known here as `tf.keras.saving`).
    """

    name: str
    spelled: str = field(default="", compare=False)
    real: str = field(default="", compare=False)


@dataclass(eq=False, slots=True)
class Listing(Value):
    """A list, tuple or set. open: it has further unknown items. born: what traced its creation."""

    kind: Literal["list", "tuple", "set"]
    items: list[Value]
    open: bool = False
    born: object = None


@dataclass(eq=False, slots=True)
class Mapping(Value):
    """A dict with constant keys. open: it has further unknown items."""

    items: dict[Any, Value]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Many(Value):
    """`count` values that are all like `element`; None if the count is not known."""

    element: Value
    count: int | None


@dataclass(frozen=True, slots=True)
class Span(Value):
    """`range(start, stop, step)`; None for an unknown part."""

    start: int | None
    stop: int | None
    step: int | None

    @property
    def count(self) -> int | None:
        """The number of values."""
        if self.start is None or self.stop is None or not self.step:
            return None
        return max(0, -((self.start - self.stop) // self.step))


@dataclass(eq=False, slots=True)
class Tensor(Value):
    """A tensor or array, with its known shape and dtype.

    made: index of the event that made it. inside: a dataset element or a symbolic tensor of a graph.
    """

    shape: Shape | None
    dtype: str | None
    library: Literal["tf", "np"] = "tf"
    made: int = -1
    inside: bool = False


@dataclass(eq=False, slots=True)
class Function(Value):
    """A function of the document, or of the neighbouring module `file`.

    kind: how it is called when found in a class.
    """

    node: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda"
    scope: Any
    name: str
    block: int
    defaults: dict[str, Value] = field(default_factory=dict)
    kind: Literal["plain", "static", "class", "property", "context"] = "plain"
    called: bool = False
    file: str = ""


@dataclass(eq=False, slots=True)
class Module(Value):
    """A module in the document's folder: the scope of its names; package: its folder, if it has one."""

    name: str
    scope: Any
    package: Any = None


@dataclass(eq=False, slots=True)
class Graph(Value):
    """The result of `tf.function`. jit: compiled by XLA; None if that is not known.

    name: its name in the document, "" if that is its function's name.
    """

    target: Value
    jit: bool | None
    line: int
    name: str = ""


@dataclass(eq=False, slots=True)
class Partial(Value):
    """`functools.partial`."""

    target: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(eq=False, slots=True)
class Class(Value):
    """A class of the document. body: the scope of its body."""

    name: str
    members: dict[str, Value]
    bases: tuple[Value, ...]
    line: int
    body: Any = None

    def find(self, name: str) -> Value | None:
        """Return a member, its own or inherited from another class of the document."""
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if found is not None:
                return found
        return None

    def library_base(self, depth: int = 0) -> str:
        """Return the dotted name of the library class that it extends; "" if none."""
        for base in self.bases:
            if isinstance(base, Api):
                return base.name
            if isinstance(base, Class) and depth < 20:
                found = base.library_base(depth + 1)
                if found:
                    return found
        return ""


@dataclass(eq=False, slots=True)
class Instance(Value):
    """An object of one of the document's classes."""

    of: Class
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound(Value):
    """A method on its object."""

    owner: Value
    name: str
    function: Value | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a `tf.data` chain: method name, and arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int
    event: int


@dataclass(eq=False, slots=True)
class Dataset(Value):
    """A `tf.data` pipeline: its source and all later steps. element: what it yields, batches included."""

    steps: tuple[Step, ...]
    element: Value

    @property
    def line(self) -> int:
        """The line of its source."""
        return self.steps[0].line


@dataclass(eq=False, slots=True)
class Layer(Value):
    """A Keras layer: the last part of its class name, and arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int


@dataclass(eq=False, slots=True)
class Model(Value):
    """A Keras model of known layers. open: it may have others.

    assumed: only its name or origin says that it is a model.
    metrics: from compile(), None if not known.
    """

    layers: list[Value]
    line: int
    open: bool = False
    assumed: bool = False
    metrics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Clock(Value):
    """A clock reading. event: index of the reading."""

    event: int


@dataclass(frozen=True, slots=True)
class Elapsed(Value):
    """A measured time. region: its index among the regions."""

    region: int


@dataclass(frozen=True, slots=True)
class DeviceObject(Value):
    """A physical or logical device, as an object and not a string.

    `list_physical_devices` returns `Many` of them, in a number that the host decides. Its names are rejected
    where a device name is needed.
    """

    family: str
    physical: bool = False


@dataclass(frozen=True, slots=True)
class Scoped(Value):
    """The result of `tf.device(…)`. families:

    `CPU`, `GPU`; several if a condition decides; "?" if unknown.
    """

    families: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class OpaqueObject(Value):
    """A library object with relevant state: a decorator that waits for its function, a Timer.

    kind: `tf.function`, `timer`, `policy`, `rng`, `context`, `info`. data: depends on the kind.
    """

    kind: str
    data: Any = None


NONE = Known(None)


def is_number(value: Value | None) -> bool:
    """Return True for a Python number or bool, known or not."""
    return isinstance(value, Number) or (
        isinstance(value, Known) and isinstance(value.value, int | float | bool)
    )


def integer(value: Value | None) -> int | None:
    """Return a constant whole number, also if written as a float without a fraction."""
    if isinstance(value, Known) and not isinstance(value.value, bool):
        if isinstance(value.value, int):
            return value.value
        if isinstance(value.value, float) and value.value.is_integer():
            return int(value.value)
    return None


def text(value: Value | None) -> str | None:
    """Return a constant text."""
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else None


# Libraries whose names stand for functions, classes and modules.
_READ = ("tf", "np", "builtins", "time", "timeit")


def truth(value: Value | None) -> bool | None:
    """Return the truth value; None if not known."""
    match value:
        case Known():
            return bool(value.value)
        case Listing() | Mapping():
            return True if value.items else (None if value.open else False)
        case Api() if value.name.partition(".")[0] not in _READ:
            # Possibly a setting in an unread module.
            return None
        case Function() | Graph() | Class() | Instance() | Api() | Model() | Dataset():
            return True
        case _:
            return None


def shape_of(value: Value | None) -> Shape | None:
    """Return a shape given as a list or tuple of numbers, or as one number."""
    if isinstance(value, Listing) and not value.open:
        return tuple(integer(item) for item in value.items)
    number = integer(value)
    return None if number is None else (number,)


def elements(shape: Shape | None) -> int | None:
    """Return the number of elements of a tensor with that shape."""
    if shape is None:
        return None
    count = 1
    for side in shape:
        if side is None:
            return None
        count *= side
    return count
