"""Values of expressions during symbolic interpretation."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Shape = tuple[int | None, ...]
RESULT_OF = "the result of "
"""Prefix of the reason recorded for the result of an unknown call."""


class Value:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Known(Value):
    """A Python constant: number, text, bytes, bool, None, Ellipsis."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unknown(Value):
    """A value that could not be resolved, with the reason and the line.

    options: the possible values, if known.
    """

    reason: str
    line: int
    options: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Number(Unknown):
    """An unknown Python number or bool. Reading it never waits for a device."""


VARIES, COUNTING = "it changes from one iteration to the next", "it counts the iterations"
# Reasons recorded for numbers that are unknown because they change in each iteration.
COUNTS = (VARIES, COUNTING)


@dataclass(frozen=True, slots=True)
class Told(Unknown):
    """A string that is only partly known.

    words: the known part, with `{}` for the rest. times: the regions whose times it contains.
    """

    words: str = ""
    times: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Api(Value):
    """A name in an imported library, in canonical dotted form: `tf.signal.stft`, `time.time`.

    spelled: as in the source (`K.get_value`). real: the actual name if the canonical name is only a
    substitute from another library (`keras.saving`, here `tf.keras.saving`).
    """

    name: str
    spelled: str = field(default="", compare=False)
    real: str = field(default="", compare=False)


@dataclass(eq=False, slots=True)
class Listing(Value):
    """A list, tuple or set.

    open: it contains further, unknown items. born: the function that was being traced when the code created
    the list.
    """

    kind: Literal["list", "tuple", "set"]
    items: list[Value]
    open: bool = False
    born: object = None


@dataclass(eq=False, slots=True)
class Mapping(Value):
    """A dict with constant keys. open: it may contain further unknown items."""

    items: dict[Any, Value]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Many(Value):
    """A sequence of values, each equal to `element`. count: their number, None if unknown."""

    element: Value
    count: int | None


@dataclass(frozen=True, slots=True)
class Span(Value):
    """`range(start, stop, step)`; None for each unknown part."""

    start: int | None
    stop: int | None
    step: int | None

    @property
    def count(self) -> int | None:
        if self.start is None or self.stop is None or not self.step:
            return None
        return max(0, -((self.start - self.stop) // self.step))


@dataclass(eq=False, slots=True)
class Tensor(Value):
    """A tensor or array.

    made: index of the event that created the tensor. inside: True for a dataset element or a symbolic tensor
    of a graph.
    """

    shape: Shape | None
    dtype: str | None
    library: Literal["tf", "np"] = "tf"
    made: int = -1
    inside: bool = False

    @property
    def kind(self) -> Literal["op", "host-op"]:
        """The kind of event that computes the tensor."""
        return "op" if self.library == "tf" else "host-op"


@dataclass(eq=False, slots=True)
class Function(Value):
    """A function in the document, or in the neighboring module `file`.

    kind: the effect of a decorator, such as `@staticmethod` or `@contextmanager`.
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
    """A module in the document's folder, with the names that it defines. package: the folder if the module is
    a package.
    """

    name: str
    scope: Any
    package: Any = None


@dataclass(eq=False, slots=True)
class Graph(Value):
    """The result of `tf.function`.

    jit: whether XLA compiles the function; None if unknown. name: the name in the document, "" if it is the
    function's own name.
    """

    target: Value
    jit: bool | None
    line: int
    name: str = ""


@dataclass(eq=False, slots=True)
class Partial(Value):
    target: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value]


@dataclass(eq=False, slots=True)
class Class(Value):
    """A class in the document. body: the scope of its body."""

    name: str
    members: dict[str, Value]
    bases: tuple[Value, ...]
    line: int
    body: Any = None

    def find(self, name: str) -> Value | None:
        """Return a member of the class, its own or inherited from another class in the document."""
        if name in self.members:
            return self.members[name]
        for base in self.bases:
            found = base.find(name) if isinstance(base, Class) else None
            if found is not None:
                return found
        return None

    def library_base(self, depth: int = 0) -> str:
        """Return the dotted name of the library class that this class extends; "" if none."""
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
    of: Class
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bound(Value):
    owner: Value
    name: str
    function: Value | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step in a `tf.data` chain: the method's name, and its arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int
    event: int


@dataclass(eq=False, slots=True)
class Dataset(Value):
    """A `tf.data` pipeline: its source, and all steps so far.

    element: the value that the pipeline yields.
    """

    steps: tuple[Step, ...]
    element: Value

    @property
    def line(self) -> int:
        return self.steps[0].line


@dataclass(eq=False, slots=True)
class Layer(Value):
    """A Keras layer: the last part of its class's dotted name, and its arguments by parameter."""

    name: str
    arguments: dict[str, Value]
    line: int


@dataclass(eq=False, slots=True)
class Model(Value):
    """A Keras model with known layers.

    open: the model may have further, unknown layers. assumed: only its name or origin suggests that this is a
    model. metrics: the metrics passed to `compile()`, None if unknown.
    """

    layers: list[Value]
    line: int
    open: bool = False
    assumed: bool = False
    metrics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Clock(Value):
    """A clock reading. event: index of the event that reads the clock."""

    event: int


@dataclass(frozen=True, slots=True)
class Elapsed(Value):
    """A measured time. region: index of its timed region."""

    region: int


@dataclass(frozen=True, slots=True)
class DeviceObject(Value):
    """A physical or logical device object, as in the result of `list_physical_devices`. A call that needs a
    logical device rejects a physical one.
    """

    family: str
    physical: bool = False


@dataclass(frozen=True, slots=True)
class Scoped(Value):
    """The result of `tf.device(…)`.

    families: `CPU`, `GPU`; several if they depend on a condition; "?" if unknown.
    """

    families: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class OpaqueObject(Value):
    """A library object whose state matters, such as a timer or a session; also a decorator without its
    function.

    kind: `timer`, `decorator`, `session`, and others. data: depends on `kind`.
    """

    kind: str
    data: Any = None


NONE = Known(None)


def is_number(value: Value | None) -> bool:
    return isinstance(value, Number) or (
        isinstance(value, Known) and isinstance(value.value, int | float | bool)
    )


def integer(value: Value | None) -> int | None:
    """Return a constant as an int if it is a whole number, such as 3 or 3.0; else None."""
    if isinstance(value, Known) and not isinstance(value.value, bool):
        if isinstance(value.value, int):
            return value.value
        if isinstance(value.value, float) and value.value.is_integer():
            return int(value.value)
    return None


def text(value: Value | None) -> str | None:
    return value.value if isinstance(value, Known) and isinstance(value.value, str) else None


# Libraries whose names are all functions, classes or modules, which are truthy.
_READ = ("tf", "np", "builtins", "time", "timeit")


def truth(value: Value | None) -> bool | None:
    match value:
        case Known():
            return bool(value.value)
        case Listing() | Mapping():
            return True if value.items else (None if value.open else False)
        case Api() if value.name.partition(".")[0] not in _READ:
            # An unknown module's name may be a setting.
            return None
        case Function() | Graph() | Class() | Instance() | Api() | Model() | Dataset():
            return True
        case _:
            return None


def map_tensors(value: Value, change: Callable[[Tensor], Tensor]) -> Value:
    """Return the value with each tensor changed, also those in lists and dicts."""
    match value:
        case Tensor():
            return change(value)
        case Listing():
            return Listing(value.kind, [map_tensors(item, change) for item in value.items], value.open)
        case Mapping():
            return Mapping({k: map_tensors(v, change) for k, v in value.items.items()}, value.open)
        case _:
            return value


def shape_of(value: Value | None) -> Shape | None:
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
