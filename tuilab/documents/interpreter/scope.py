"""Names and their values. A journal of bindings makes it possible to interpret branches separately and then
merge them.
"""

from dataclasses import dataclass, field

from tuilab.documents.interpreter.values import RESULT_OF, Dataset, Elapsed, Known, Tensor, Unknown, Value

Store = dict[str, Value]


@dataclass(eq=False)
class Scope:
    """The names in a module, class body or function call. As in Python, lookup continues in the outer scopes.

    owner: the class, if this is a class body. instances: the first object of the class.
    """

    names: Store = field(default_factory=dict)
    parent: "Scope | None" = None
    is_class: bool = False
    instances: list[Value] = field(default_factory=list)
    owner: Value | None = None
    elsewhere: dict[str, "Scope"] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """Return the value of a name in this scope or an outer scope; None if unbound. Names of a class body
        are visible only inside this body.
        """
        scope: Scope | None = self.elsewhere.get(name, self)
        first = True
        while scope is not None:
            if name in scope.names and (first or not scope.is_class):
                return scope.names[name]
            scope, first = scope.parent, False
        return None

    def module(self) -> "Scope":
        scope = self
        while scope.parent is not None and scope.parent.parent is not None:
            scope = scope.parent
        return scope


Entry = tuple[Store, str, Value | None]
Bindings = dict[tuple[int, str], tuple[Store, Value | None]]


class Journal:
    """Records the names that each branch binds, and undoes these bindings before the next branch. Finally
    merges the bindings of all branches.
    """

    def __init__(self) -> None:
        self._open: list[list[Entry]] = []

    def write(self, store: Store, name: str, value: Value) -> None:
        if self._open:
            self._open[-1].append((store, name, store.get(name)))
        store[name] = value

    def begin(self) -> None:
        self._open.append([])

    def undo(self) -> Bindings:
        """End the branch: restore the values that the names had before it, and return the values that it
        bound.
        """
        entries = self._open.pop()
        bound: Bindings = {}
        for store, name, _ in entries:
            bound[id(store), name] = (store, store.get(name))
        for store, name, old in reversed(entries):
            if old is None:
                store.pop(name, None)
            else:
                store[name] = old
        return bound

    def join(self, branches: list[Bindings], line: int) -> None:
        """Bind every name that a branch bound. A name with different values in several branches gets all of
        them as possible values.
        """
        keys: dict[tuple[int, str], Store] = {}
        for bound in branches:
            keys |= {key: store for key, (store, _) in bound.items()}
        for key, store in keys.items():
            before = store.get(key[1])
            left = [bound[key][1] if key in bound else before for bound in branches]
            joined = left[0]
            for value in left[1:]:
                joined = either(joined, value, line)
            if joined is not None:
                self.write(store, key[1], joined)


def either(one: Value | None, other: Value | None, line: int) -> Value | None:
    """Return a value that may be `one` or `other`. If one of them is None, because its branch does not bind
    the name, return the other.
    """
    if one is None or other is None or one is other:
        return one if other is None else other
    if one == other:
        return one
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        same = one.shape == other.shape and one.dtype == other.dtype
        if same and one.library == other.library:
            return other
        shape = one.shape if one.shape == other.shape else None
        dtype = one.dtype if one.dtype == other.dtype else None
        return Tensor(shape, dtype, other.library, other.made)
    if {type(one), type(other)} == {Elapsed, Known}:
        # Only one branch adds a time to the total: keep the time.
        return one if isinstance(one, Elapsed) else other
    if isinstance(one, Dataset) and isinstance(other, Dataset):
        # Only one branch adds a step to the pipeline: keep the longer pipeline.
        return one if len(one.steps) > len(other.steps) else other
    options: list[Value] = []
    for value in (one, other):
        called = isinstance(value, Unknown) and not value.options and value.reason.startswith(RESULT_OF)
        found = value.options if isinstance(value, Unknown) and not called else (value,)
        options += [v for v in found if isinstance(v, Known) or v not in options]
    return Unknown("it depends on a condition", line, tuple(options[:8]))
