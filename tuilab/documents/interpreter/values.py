"""What a name may stand for while code is read without being run."""

import ast
from dataclasses import dataclass, field
from typing import Any, Literal

Shape = tuple[int | None, ...]


class Value:
    """Anything that an expression can stand for."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Known(Value):
    """A constant of Python: number, text, bytes, truth, None, Ellipsis."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unknown(Value):
    """What could not be resolved, why, and where. options: what it may be, where that much is known."""

    reason: str
    line: int
    options: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Number(Unknown):
    """A number or a truth of Python, which one is not known. Reading it waits for nothing."""


VARIES, COUNTING = "it changes from one iteration to the next", "it counts the iterations"
# Why a number is not known that is another one in each iteration.
COUNTS = (VARIES, COUNTING)


@dataclass(frozen=True, slots=True)
class Told(Unknown):
    """A text that is not known as a whole.

    words: what is known of it, with `{}` for the rest; times: the regions in it; ends: its known last part.
    """

    words: str = ""
    times: tuple[int, ...] = ()
    ends: str = ""


@dataclass(frozen=True, slots=True)
class Api(Value):
    """Something of an imported library, by its canonical dotted name: `tf.signal.stft`, `time.time`.

    spelled: as the source writes it (`K.get_value`). real: where the canonical name stands for another
    library's, the dotted name in that library (`keras.saving`, known here as `tf.keras.saving`).
    """

    name: str
    spelled: str = field(default="", compare=False)
    real: str = field(default="", compare=False)


@dataclass(eq=False, slots=True)
class Listing(Value):
    """A list, tuple or set. open: it has further items that are not known. born: what traced its making."""

    kind: Literal["list", "tuple", "set"]
    items: list[Value]
    open: bool = False
    born: object = None


@dataclass(eq=False, slots=True)
class Mapping(Value):
    """A dict with constant keys. open: it has further items that are not known."""

    items: dict[Any, Value]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Many(Value):
    """`count` values that are all like `element`; count is None where it is not known."""

    element: Value
    count: int | None


@dataclass(frozen=True, slots=True)
class Span(Value):
    """`range(start, stop, step)`; None for a part that is not known."""

    start: int | None
    stop: int | None
    step: int | None

    @property
    def count(self) -> int | None:
        """How many numbers it gives."""
        if self.start is None or self.stop is None or not self.step:
            return None
        return max(0, -((self.start - self.stop) // self.step))


@dataclass(eq=False, slots=True)
class Tensor(Value):
    """A tensor or an array: what is known of its shape and dtype.

    made: index of the event that made it. inside: an element of a dataset or a symbolic tensor of a graph.
    """

    shape: Shape | None
    dtype: str | None
    library: Literal["tf", "np"] = "tf"
    made: int = -1
    inside: bool = False


@dataclass(eq=False, slots=True)
class Function(Value):
    """A function of the document itself, or of the module `file` beside it.

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
    """A module of the document's own folder: the scope of its names; package: its folder, if it has one."""

    name: str
    scope: Any
    package: Any = None


@dataclass(eq=False, slots=True)
class Graph(Value):
    """What `tf.function` makes of a function. jit: compiled by XLA; None where that is not known."""

    target: Value
    jit: bool | None
    line: int


@dataclass(eq=False, slots=True)
class Partial(Value):
    """`functools.partial`."""

    target: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(eq=False, slots=True)
class Class(Value):
    """A class of the document itself. body: the scope of its body."""

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
        """Return the dotted name of the library class that it extends, "" for none."""
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
    """One link of a `tf.data` chain: the method's name and its arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int
    event: int


@dataclass(eq=False, slots=True)
class Dataset(Value):
    """A `tf.data` pipeline: its source and every step since. element: what it yields, batches included."""

    steps: tuple[Step, ...]
    element: Value

    @property
    def line(self) -> int:
        """Return the line at which its source stands."""
        return self.steps[0].line


@dataclass(eq=False, slots=True)
class Layer(Value):
    """A Keras layer: the class's last name and its arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int


@dataclass(eq=False, slots=True)
class Model(Value):
    """A Keras model of known layers. open: it may have others.

    assumed: what it is called, or what made it, says that it is one; nothing more is known of it.
    metrics: what it was compiled with, None where that is not known.
    """

    layers: list[Value]
    line: int
    open: bool = False
    assumed: bool = False
    metrics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Clock(Value):
    """A time that was read. event: the index of the reading."""

    event: int


@dataclass(frozen=True, slots=True)
class Elapsed(Value):
    """A time measured. region: its index among the regions."""

    region: int


@dataclass(frozen=True, slots=True)
class DeviceObject(Value):
    """A physical or logical device, as an object and not as a string.

    What `list_physical_devices` returns is `Many` of them: how many, the host decides. Its names are
    refused where a device's name is asked for.
    """

    family: str
    physical: bool = False


@dataclass(frozen=True, slots=True)
class Scoped(Value):
    """What `tf.device(…)` returns. families: `CPU`, `GPU`; several where a condition decides; "?" unknown."""

    families: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class OpaqueObject(Value):
    """Something of a library with a state worth knowing: a decorator that waits for its function, a Timer.

    kind: `tf.function`, `timer`, `policy`, `rng`, `context`, `info`. data: what its kind needs.
    """

    kind: str
    data: Any = None


NONE = Known(None)


def is_number(value: Value | None) -> bool:
    """Return whether it is a number or a truth of Python, known or not."""
    return isinstance(value, Number) or (
        isinstance(value, Known) and isinstance(value.value, int | float | bool)
    )


def integer(value: Value | None) -> int | None:
    """Return a constant whole number, also where it is written as a float without a fraction."""
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
    """Return whether it counts as true; None where that is not known."""
    match value:
        case Known():
            return bool(value.value)
        case Listing() | Mapping():
            return True if value.items else (None if value.open else False)
        case Api() if value.name.partition(".")[0] not in _READ:
            # A setting of a module that is not read, for all that is known.
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
    """Return how many elements a tensor of that shape has."""
    if shape is None:
        return None
    count = 1
    for side in shape:
        if side is None:
            return None
        count *= side
    return count
