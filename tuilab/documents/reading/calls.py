"""Calls: the document's own functions and classes are read in place; libraries have their own modules."""

import ast
from collections.abc import Callable
from typing import Any

from tuilab.documents.reading import builtin_calls, library, methods
from tuilab.documents.reading.reader import MOST_CALLS_DEEP, Frame, Reader
from tuilab.documents.reading.scope import Scope, either
from tuilab.documents.reading.trace import Traced
from tuilab.documents.reading.values import (
    NONE,
    Api,
    Bound,
    Class,
    Function,
    Graph,
    Instance,
    Known,
    Layer,
    Listing,
    Mapping,
    Model,
    Partial,
    Special,
    Tensor,
    Unknown,
    Value,
)

Keywords = dict[str, Value]
# The key under which arguments that are not known one by one (`*args`, `**options`) are passed on.
OPEN = "**"


def call(reader: Reader, node: ast.Call, scope: Scope) -> Value:
    """Read a call expression."""
    if isinstance(node.func, ast.Name) and node.func.id in builtin_calls.WITH_SCOPE:
        found = scope.find(node.func.id)
        if found is None:
            return builtin_calls.with_scope(reader, node, scope)
    callee = reader.evaluate(node.func, scope)
    args, keywords = arguments(reader, node, scope)
    # In a chain over several lines a call stands where its own name does.
    return call_value(reader, callee, args, keywords, node.func.end_lineno or node.lineno)


def arguments(reader: Reader, node: ast.Call, scope: Scope) -> tuple[list[Value], Keywords]:
    """Positional and keyword arguments; stars are spread where their items are known."""
    args: list[Value] = []
    keywords: Keywords = {}
    for part in node.args:
        if isinstance(part, ast.Starred):
            value = reader.evaluate(part.value, scope)
            if isinstance(value, Listing) and not value.open and len(value.items) <= 64:
                args += value.items
            else:
                keywords[OPEN] = value
        else:
            args.append(reader.evaluate(part, scope))
    for keyword in node.keywords:
        value = reader.evaluate(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords |= {str(k): v for k, v in value.items.items()}
            if value.open:
                keywords[OPEN] = value
        else:
            keywords[OPEN] = value
    return args, keywords


def call_value(reader: Reader, callee: Value, args: list[Value], keywords: Keywords, line: int) -> Value:
    """What calling the value gives."""
    match callee:
        case Function():
            return call_function(reader, callee, args, keywords, line)
        case Graph():
            return call_graph(reader, callee, args, keywords, line)
        case Api():
            return library.call(reader, callee.name, args, keywords, line)
        case Bound(function=Function() as function):
            return call_function(reader, function, [callee.owner, *args], keywords, line)
        case Bound(function=Graph() as graph):
            return call_graph(reader, graph, [callee.owner, *args], keywords, line)
        case Bound():
            return methods.call(reader, callee, args, keywords, line)
        case Class():
            return instantiate(reader, callee, args, keywords, line)
        case Instance():
            return _call_instance(reader, callee, args, keywords, line)
        case Partial():
            return call_value(
                reader, callee.target, [*callee.args, *args], {**callee.keywords, **keywords}, line
            )
        case Model() | Layer():
            return methods.call_layer(reader, callee, args, line)
        case Special(kind="object", data=str(name)) if name.startswith("tf.keras."):
            result = Tensor(None, None)
            reader.event("op", name, line, {str(i): a for i, a in enumerate(args)}, result)
            return result
        case Special(kind="decorator"):
            return apply_decorator(reader, callee, args[0] if args else NONE, line)
        case _:
            return opaque(reader, callee, args, line)


def opaque(reader: Reader, callee: Value, args: list[Value], line: int) -> Value:
    """A call of something that is not known. It may do any work, and may wait for it."""
    reason = callee.reason if isinstance(callee, Unknown) else "a call that is not followed"
    reader.event("opaque", reason, line, {str(i): a for i, a in enumerate(args)})
    return Unknown(reason, callee.line if isinstance(callee, Unknown) and callee.line else line)


def call_function(
    reader: Reader,
    function: Function,
    args: list[Value],
    keywords: Keywords,
    line: int,
    hook: Callable[[Value], None] | None = None,
) -> Value:
    """Read the function's body with its parameters bound. A function is not read inside itself."""
    function.called = True
    if function.kind == "context" and hook is None:
        return Special("generated", (function, args, keywords))
    inside = any(
        frame.function is not None and frame.function.node is function.node for frame in reader.frames
    )
    if inside or len(reader.frames) > MOST_CALLS_DEEP:
        reader.event("opaque", f"{function.name}: recursion is not followed", line)
        return Unknown(f"{function.name} calls itself", line)
    scope = Scope({}, function.scope)
    _bind(function, args, keywords, scope, line)
    reader.frames.append(Frame(function, hook=hook))
    try:
        with reader.at(function=function.name):
            if isinstance(function.node, ast.Lambda):
                return reader.evaluate(function.node.body, scope)
            reader.execute(function.node.body, scope)
    finally:
        frame = reader.frames.pop()
    if reader.once(function.node, _is_generator):
        return _generator(frame, line)
    return _returned(frame.returned, line)


def _returned(values: list[Value], line: int) -> Value:
    result: Value | None = None
    for value in values:
        result = either(result, value, line)
    return NONE if result is None else result


def _is_generator(node: ast.AST) -> bool:
    """Whether the function itself yields; functions inside it do not count."""
    stack = list(ast.iter_child_nodes(node))
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack += ast.iter_child_nodes(part)
    return False


def _generator(frame: Frame, line: int) -> Value:
    if len(frame.returned) == 1:
        return Special("iterator", Listing("list", frame.returned, open=True))
    return Special("iterator", Listing("list", frame.returned[:8], open=True))


def _bind(function: Function, args: list[Value], keywords: Keywords, scope: Scope, line: int) -> None:
    """Bind parameters as Python does; what was not given stands as unknown, named."""
    spec: Any = function.node.args
    plain = [p.arg for p in spec.posonlyargs + spec.args]
    named = plain + [p.arg for p in spec.kwonlyargs]
    given: dict[str, Value] = dict(zip(plain, args, strict=False))
    rest = {k: v for k, v in keywords.items() if k != OPEN}
    for name in named:
        if name in rest:
            given[name] = rest.pop(name)
    for name in named:
        if name in given:
            scope.names[name] = given[name]
        elif name in function.defaults and OPEN not in keywords:
            scope.names[name] = function.defaults[name]
        else:
            scope.names[name] = Unknown(f"{name} is given by whoever calls {function.name}", line)
    if spec.vararg is not None:
        scope.names[spec.vararg.arg] = Listing("tuple", args[len(plain) :], OPEN in keywords)
    if spec.kwarg is not None:
        scope.names[spec.kwarg.arg] = Mapping(dict(rest), OPEN in keywords)


def call_graph(reader: Reader, graph: Graph, args: list[Value], keywords: Keywords, line: int) -> Value:
    """Call a `tf.function`: its Python runs once, while it is traced; then the graph runs."""
    inside = reader.in_graph() is not None
    traced = reader.place.traced or Traced("tf.function", graph.line, graph)
    with reader.at(traced=traced):
        result = call_value(reader, graph.target, args, keywords, line)
    if not inside:
        for part in parts_of(result):
            part.inside, part.made = False, -1
        found = parts_of(result)
        reader.event("graph", name_of(graph.target), line, {"graph": graph}, result)
        for part in found:
            part.made = len(reader.trace.events) - 1
    return result


def parts_of(value: Value) -> list[Tensor]:
    """The tensors in a result."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Listing):
        return [t for item in value.items for t in parts_of(item)]
    if isinstance(value, Mapping):
        return [t for item in value.items.values() for t in parts_of(item)]
    return []


def name_of(value: Value) -> str:
    """A function's name, for messages."""
    match value:
        case Function():
            return value.name
        case Graph():
            return name_of(value.target)
        case Bound():
            return value.name
        case Api():
            return value.name
        case Partial():
            return name_of(value.target)
        case _:
            return "a function"


def instantiate(reader: Reader, made: Class, args: list[Value], keywords: Keywords, line: int) -> Value:
    """An object of one of the document's classes, with `__init__` read."""
    instance = Instance(made)
    if made.body is not None and not made.body.instances:
        made.body.instances.append(instance)
    init = made.find("__init__")
    if isinstance(init, Function):
        call_function(reader, init, [instance, *args], keywords, line)
    fields = made.find("__dataclass_fields__")
    if isinstance(fields, Listing):
        names = [str(f.value) for f in fields.items if isinstance(f, Known)]
        instance.attributes |= dict(zip(names, args, strict=False))
        instance.attributes |= {k: v for k, v in keywords.items() if k in names}
    if made.library_base().startswith(("tf.keras", "tf.Module")):
        reader.event("build", made.library_base(), line)
    return instance


def _call_instance(
    reader: Reader, instance: Instance, args: list[Value], keywords: Keywords, line: int
) -> Value:
    for name in ("__call__", "call"):
        method = instance.of.find(name)
        if method is not None:
            return call_value(reader, method, [instance, *args], keywords, line)
    base = instance.of.library_base()
    if base.startswith("tf."):
        result = Tensor(None, None)
        reader.event("op", base, line, {"x": args[0]} if args else {}, result)
        return result
    return opaque(reader, Unknown(f"{instance.of.name} is not callable in the document", line), args, line)


def apply_decorator(reader: Reader, decorator: Value, target: Value, line: int) -> Value:
    """What a decorator makes of a function. One that is not known is taken to keep what it decorates."""
    match decorator:
        case Api(name="tf.function"):
            return Graph(target, None, line)
        case Special(kind="decorator"):
            jit: bool | None = decorator.data
            return Graph(target, jit, line)
        case Api(name="contextlib.contextmanager") if isinstance(target, Function):
            target.kind = "context"
        case Api(name="builtins.property" | "functools.cached_property") if isinstance(target, Function):
            target.kind = "property"
        case Api(name="builtins.staticmethod") if isinstance(target, Function):
            target.kind = "static"
        case Api(name="builtins.classmethod") if isinstance(target, Function):
            target.kind = "class"
        case Function() | Partial() | Bound(function=Function()):
            made = call_value(reader, decorator, [target], {}, line)
            if not isinstance(made, Unknown):
                return made
        case Unknown():
            reader.note(line, f"a decorator is not followed: {decorator.reason}")
        case _:
            pass
    return target
