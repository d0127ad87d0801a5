"""Evaluates iteration over values, and indexing."""

import ast
from dataclasses import dataclass
from typing import Any

from tuilab.documents.interpreter.interpreter import Interpreter, expression, times_in
from tuilab.documents.interpreter.names import ENVIRONMENT, SAVED
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.tensors import sliced
from tuilab.documents.interpreter.values import (
    COUNTING,
    NONE,
    VARIES,
    Api,
    Bound,
    Class,
    Clock,
    Dataset,
    Elapsed,
    Instance,
    Known,
    Listing,
    Many,
    Mapping,
    Number,
    OpaqueObject,
    Shape,
    Span,
    Tensor,
    Unknown,
    Value,
    integer,
    map_tensors,
)

MOST_UNROLLED = 8
MOST_UNROLLED_TOGETHER = 64


@dataclass
class Iteration:
    """The items of a loop's iterable.

    items: all items, if they are known. element: a value that represents each item.
    """

    element: Value
    count: int | None = None
    items: list[Value] | None = None
    dataset: Dataset | None = None


def iterate(interpreter: Interpreter, value: Value, line: int) -> Iteration:
    varies = Unknown(VARIES, line)
    match value:
        case Listing() if not value.open:
            element = value.items[0] if len(value.items) == 1 else _common(value.items, varies)
            return Iteration(element, len(value.items), list(value.items))
        case Listing():
            return Iteration(_common(value.items, varies))
        case Mapping():
            keys: list[Value] = [Known(key) for key in value.items]
            return Iteration(varies, None if value.open else len(keys), None if value.open else keys)
        case Many():
            return Iteration(value.element, value.count)
        case Span():
            numbers: list[Value] | None = None
            if value.count is not None and value.count <= MOST_UNROLLED:
                assert value.start is not None and value.stop is not None and value.step
                numbers = [Known(n) for n in range(value.start, value.stop, value.step)]
            return Iteration(Number(varies.reason, line), value.count, numbers)
        case Tensor():
            rest = value.shape[1:] if value.shape else None
            element = Tensor(rest, value.dtype, value.library, value.made, value.inside)
            return Iteration(element, value.shape[0] if value.shape else None)
        case Dataset():
            outside = interpreter.in_graph() is None and not interpreter.deferred
            # Eager code receives concrete tensors, not the symbolic tensors that a mapped function receives.
            element = map_tensors(value.element, _concrete) if outside else value.element
            return Iteration(element, batches(value), dataset=value)
        case OpaqueObject(kind="enumerate" | "zip" | "iterator"):
            return _combine(interpreter, value, line)
        case OpaqueObject(kind="generator"):
            interpreter.event("opaque", "a generator", line)
            return Iteration(_common(value.data.items, varies))
        case Instance():
            interpreter.event("opaque", f"iterating over a {value.of.name}", line)
            return Iteration(varies)
        case Known(value=str(text)):
            return Iteration(varies, len(text), [Known(c) for c in text[: MOST_UNROLLED + 1]])
        case Unknown():
            interpreter.event("opaque", "iterating over an unknown value", line)
            return Iteration(Unknown(value.reason, value.line))
        case _:
            return Iteration(varies)


def _concrete(tensor: Tensor) -> Tensor:
    return Tensor(tensor.shape, tensor.dtype, tensor.library, tensor.made)


def _common(items: list[Value], varies: Value) -> Value:
    """Return a value that represents every item: the first item if all have the same shape and dtype, else
    `varies`.
    """
    first = items[0] if items else varies
    if all(item == first for item in items):
        return first
    if isinstance(first, Tensor):
        alike = all(isinstance(i, Tensor) and (i.shape, i.dtype) == (first.shape, first.dtype) for i in items)
        return first if alike else varies
    return varies


def _combine(interpreter: Interpreter, value: OpaqueObject, line: int) -> Iteration:
    if value.kind == "iterator":
        return iterate(interpreter, value.data, line)
    parts = [iterate(interpreter, v, line) for v in value.data]
    counts = [p.count for p in parts if p.count is not None]
    count = min(counts) if counts and len(counts) == len(parts) else None
    if value.kind == "enumerate":
        number: Value = Number(COUNTING, line)
        inner = parts[0]
        items: list[Value] | None = None
        if inner.items is not None:
            items = [Listing("tuple", [Known(n), item]) for n, item in enumerate(inner.items)]
        return Iteration(Listing("tuple", [number, inner.element]), inner.count, items, inner.dataset)
    together: list[Value] | None = None
    if all(p.items is not None for p in parts):
        together = [Listing("tuple", list(row)) for row in zip(*[p.items or [] for p in parts], strict=False)]
    dataset = next((p.dataset for p in parts if p.dataset), None)
    return Iteration(Listing("tuple", [p.element for p in parts]), count, together, dataset)


def batches(dataset: Dataset) -> int | None:
    """Return the number of elements that a pipeline yields; None if unknown."""
    count: int | None = None
    for step in dataset.steps:
        number = integer(step.arguments.get("count"))
        match step.name:
            case "from_tensor_slices":
                count = first_side(step.arguments.get("tensors"))
            case "range":
                numbers = [integer(v) for k, v in step.arguments.items() if k.isdigit()]
                count = numbers[0] if len(numbers) == 1 else None
            case "from_tensors":
                count = 1
            case "batch":
                size = integer(step.arguments.get("batch_size"))
                if count is not None and size and size > 0:
                    dropped = step.arguments.get("drop_remainder") == Known(True)
                    count = count // size if dropped else -(-count // size)
                else:
                    count = None
            case "repeat":
                count = count * number if count is not None and number is not None and number > 0 else None
            case "take":
                taken = number if number is not None and number >= 0 else None
                count = taken if count is None else min(count, taken) if taken is not None else count
            case "skip":
                count = max(0, count - number) if count is not None and number is not None else None
            case "map" | "prefetch" | "cache" | "shuffle" | "with_options" | "enumerate":
                pass
            case _:
                count = None
    return count


def first_side(value: Value | None) -> int | None:
    """Return the length of the first dimension of a tensor, or of the first tensor in a collection."""
    if isinstance(value, Listing) and value.items and isinstance(value.items[0], Tensor | Listing):
        return first_side(value.items[0])
    if isinstance(value, Mapping) and value.items:
        return first_side(next(iter(value.items.values())))
    if isinstance(value, Tensor) and value.shape:
        return value.shape[0]
    if isinstance(value, Listing) and not value.open:
        return len(value.items)
    return None


@expression(ast.Subscript)
def subscript(interpreter: Interpreter, node: ast.Subscript, scope: Scope) -> Value:
    value = interpreter.evaluate(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        return _slice(interpreter, value, node.slice, scope, node.lineno)
    index = _index(interpreter, node.slice, scope)
    match value:
        case Listing():
            at = integer(index)
            if at is not None and -len(value.items) <= at < len(value.items) and not (value.open and at < 0):
                return value.items[at]
            alike = _common(value.items, index)
            return alike if isinstance(alike, Tensor) else Unknown("an unknown item", node.lineno)
        case Mapping():
            if isinstance(index, Known) and index.value in value.items:
                return value.items[index.value]
            return Unknown("an unknown item", node.lineno)
        case Many() | Span() | OpaqueObject(kind="enumerate" | "zip"):
            return iterate(interpreter, value, node.lineno).element
        case Tensor():
            return _part(interpreter, value, sliced(value, index), node.lineno)
        case OpaqueObject(kind="logs"):
            return _logs_item(interpreter, value, index, node.lineno)
        case OpaqueObject(kind="info"):
            return _info_item(interpreter, value, index, node.lineno)
        case Api() | Bound():
            return value
        case Unknown():
            return Unknown(value.reason, value.line)
        case _:
            return Unknown("an unknown item", node.lineno)


def _index(interpreter: Interpreter, node: ast.expr, scope: Scope) -> Value:
    if isinstance(node, ast.Tuple):
        return Listing("tuple", [_index(interpreter, part, scope) for part in node.elts[:32]])
    if isinstance(node, ast.Slice):
        return OpaqueObject("slice", node.lower is node.upper is node.step is None)
    return interpreter.evaluate(node, scope)


def _slice(interpreter: Interpreter, value: Value, node: ast.Slice, scope: Scope, line: int) -> Value:
    parts = [
        NONE if p is None else interpreter.evaluate(p, scope) for p in (node.lower, node.upper, node.step)
    ]
    numbers = [None if p == NONE else integer(p) for p in parts]
    known = all(p == NONE or n is not None for p, n in zip(parts, numbers, strict=True))
    if isinstance(value, Listing) and known and not value.open and numbers[2] != 0:
        return Listing(value.kind, value.items[slice(*numbers)])
    if isinstance(value, Known) and isinstance(value.value, str) and known and numbers[2] != 0:
        return Known(value.value[slice(*numbers)])
    if isinstance(value, Tensor):
        shape = value.shape
        if shape:
            side = shape[0]
            first = (
                len(range(side)[slice(*numbers)]) if known and side is not None and numbers[2] != 0 else None
            )
            shape = (first, *shape[1:])
        return _part(interpreter, value, shape, line)
    return value if isinstance(value, Many) else Unknown("a slice of an unknown value", line)


def _part(interpreter: Interpreter, tensor: Tensor, shape: Shape | None, line: int) -> Tensor:
    result = Tensor(shape, tensor.dtype, tensor.library, -1, tensor.inside)
    return interpreter.make(result.kind, "tf.strided_slice", line, {"x": tensor}, result)


def _info_item(interpreter: Interpreter, info: OpaqueObject, index: Value, line: int) -> Value:
    """Return an item of the result of `get_memory_info`. Records a mistake for any key except `current` and
    `peak`.
    """
    name, keys = info.data
    if isinstance(index, Known) and index.value not in keys:
        remedy = "Its keys are " + " and ".join(repr(k) for k in keys) + "."
        interpreter.misfit("key", line, f"the result of {name} has no key {index.value!r}", remedy)
    return Unknown("a value known only at run time", line)


def _logs_item(interpreter: Interpreter, logs: OpaqueObject, index: Value, line: int) -> Value:
    """Return an item of the logs that `fit()` passes to callbacks.

    Metrics are named as in `compile()`, with the prefix `val_` for validation.
    """
    metrics, tested = logs.data
    key = index.value if isinstance(index, Known) and isinstance(index.value, str) else ""
    name = key.removeprefix("val_")
    other = {"acc": "accuracy", "accuracy": "acc"}.get(name, "")
    if key != name and not tested:
        detail = f"fit() has no validation_data here, so it does not log {key!r}"
        interpreter.misfit("key", line, detail, "Pass validation_data or validation_split.", at=key)
    elif metrics is not None and other in metrics and name not in metrics:
        detail = f"fit() logs the metric under its name in compile(), {other!r}, not {key!r}"
        remedy = f"Its key is {key.removesuffix(name) + other!r}."
        interpreter.misfit("key", line, detail, remedy, at=key)
    return Unknown("the result of fit()", line)


def bind_target(interpreter: Interpreter, target: ast.expr, value: Value, scope: Scope) -> None:
    """Bind the target of an assignment, a loop, a `with` or a comprehension."""
    match target:
        case ast.Name():
            if isinstance(value, Elapsed):
                region = interpreter.trace.regions[value.region]
                region.name = region.name or target.id
            elif isinstance(value, Clock):
                interpreter.called.setdefault(value.event, target.id)
            store = scope.elsewhere.get(target.id, scope).names
            interpreter.journal.write(store, target.id, value)
        case ast.Tuple() | ast.List():
            _unpack(interpreter, target.elts, value, scope, target.lineno)
        case ast.Starred():
            bind_target(interpreter, target.value, value, scope)
        case ast.Attribute():
            owner = interpreter.evaluate(target.value, scope)
            if isinstance(owner, Instance):
                interpreter.journal.write(owner.attributes, target.attr, value)
            elif isinstance(owner, Class):
                interpreter.journal.write(owner.members, target.attr, value)
        case ast.Subscript():
            _store_item(interpreter, target, value, scope)
        case _:
            pass


def _store_item(interpreter: Interpreter, target: ast.Subscript, value: Value, scope: Scope) -> None:
    interpreter.gather(value)
    owner = interpreter.evaluate(target.value, scope)
    index = _index(interpreter, target.slice, scope)
    made = interpreter.trace.maker(owner)
    if made is not None and made.name == SAVED:
        # An object from a SavedModel may support item assignment.
        return
    if isinstance(owner, Tensor) and owner.library == "tf" and not interpreter.guards:
        interpreter.misfit(
            "type",
            target.lineno,
            "a tensor does not support item assignment: this raises a TypeError",
            "Use tf.tensor_scatter_nd_update, or a tf.Variable's slice with .assign().",
        )
    if isinstance(owner, Tensor) and owner.library == "np":
        interpreter.trace.filled.add(owner.made)
        interpreter.reads(value, "an item of an array", target.lineno)
    if isinstance(owner, Unknown) and owner.reason == ENVIRONMENT and isinstance(index, Known):
        interpreter.event("config", f"os.environ.{str(index.value)[:60]}", target.lineno, {"value": value})
    times = times_in(value)
    if isinstance(value, Elapsed) and isinstance(index, Known) and isinstance(index.value, str):
        region = interpreter.trace.regions[value.region]
        region.name = region.name or index.value[:80]
    if times and isinstance(owner, Mapping):
        interpreter.compare([*(t for v in owner.items.values() for t in times_in(v)), *times])
    if isinstance(owner, Mapping) and isinstance(index, Known) and len(owner.items) < 1_000:
        interpreter.journal.write(owner.items, index.value, value)
    elif isinstance(owner, Listing):
        at = integer(index)
        if at is not None and -len(owner.items) <= at < len(owner.items):
            owner.items[at] = value
    elif isinstance(owner, Mapping):
        owner.open = True


def _unpack(interpreter: Interpreter, targets: list[ast.expr], value: Value, scope: Scope, line: int) -> None:
    found = iterate(interpreter, value, line) if not isinstance(value, Unknown) else Iteration(value)
    items = found.items
    stars = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if items is not None and stars and len(items) >= len(targets) - 1:
        at, rest = stars[0], len(items) - len(targets) + 1
        items = [*items[:at], Listing("list", items[at : at + rest]), *items[at + rest :]]
    if items is None or len(items) != len(targets):
        items = [found.element] * len(targets)
    for target, item in zip(targets, items, strict=True):
        bind_target(interpreter, target, item, scope)


@expression(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
def comprehension(interpreter: Interpreter, node: Any, scope: Scope) -> Value:
    """Evaluate a comprehension to a list. Evaluates the element once per item if the items are few and
    known.
    """
    inner = Scope({}, scope)
    generator = node.generators[0]
    interpreter.event("python", "a comprehension", node.lineno)
    found = iterate(interpreter, interpreter.evaluate(generator.iter, scope), node.lineno)
    made: list[Value] = []

    def read(item: Value) -> None:
        bind_target(interpreter, generator.target, item, inner)
        for condition in generator.ifs:
            interpreter.evaluate(condition, inner)
        for further in node.generators[1:]:
            more = iterate(interpreter, interpreter.evaluate(further.iter, inner), node.lineno)
            bind_target(interpreter, further.target, more.element, inner)
        if isinstance(node, ast.DictComp):
            made.append(
                Listing(
                    "tuple", [interpreter.evaluate(node.key, inner), interpreter.evaluate(node.value, inner)]
                )
            )
        else:
            made.append(interpreter.evaluate(node.elt, inner))
            interpreter.gather(made[-1])

    items = found.items
    simple = len(node.generators) == 1 and not generator.ifs
    if (
        items is not None
        and simple
        and len(items) <= MOST_UNROLLED
        and interpreter.unrolled < MOST_UNROLLED_TOGETHER
    ):
        for item in items:
            read(item)
        return _collect(node, made)
    count = found.count if simple else None
    if found.dataset is not None:
        interpreter.event("iterate", "tf.data.Dataset", node.lineno, {"dataset": found.dataset})
    with interpreter.inside(interpreter.loop(node, count, found.dataset)):
        read(found.element)
    if isinstance(node, ast.DictComp):
        return Mapping({}, open=True)
    return Many(made[0], count)


def _collect(node: Any, made: list[Value]) -> Value:
    if not isinstance(node, ast.DictComp):
        return Listing("set" if isinstance(node, ast.SetComp) else "list", made)
    out = Mapping({})
    for pair in made:
        assert isinstance(pair, Listing)
        key, value = pair.items
        if isinstance(key, Known):
            out.items[key.value] = value
        else:
            out.open = True
    return out
