"""Calls: the document's own functions and classes are read in place; libraries have their own modules."""

import ast
from collections.abc import Callable
from typing import Any

from tuilab.documents.interpreter import builtin_calls, library, methods
from tuilab.documents.interpreter.interpreter import MOST_CALLS_DEEP, Frame, Interpreter
from tuilab.documents.interpreter.scope import Scope, either
from tuilab.documents.interpreter.trace import Traced
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    Class,
    Function,
    Graph,
    Instance,
    Layer,
    Listing,
    Mapping,
    Model,
    OpaqueObject,
    Partial,
    Tensor,
    Unknown,
    Value,
)

Keywords = dict[str, Value]
# The key under which arguments that are not known one by one (`*args`, `**options`) are passed on.
OPEN = "**"


def call(interpreter: Interpreter, node: ast.Call, scope: Scope) -> Value:
    """Read a call expression."""
    if isinstance(node.func, ast.Name) and node.func.id in builtin_calls.WITH_SCOPE:
        found = scope.find(node.func.id)
        if found is None:
            return builtin_calls.with_scope(interpreter, node, scope)
    callee = interpreter.evaluate(node.func, scope)
    args, keywords = arguments(interpreter, node, scope)
    # In a chain over several lines a call stands where its own name does.
    return call_value(interpreter, callee, args, keywords, node.func.end_lineno or node.lineno)


def arguments(interpreter: Interpreter, node: ast.Call, scope: Scope) -> tuple[list[Value], Keywords]:
    """Positional and keyword arguments; stars are spread where their items are known."""
    args: list[Value] = []
    keywords: Keywords = {}
    for part in node.args:
        if isinstance(part, ast.Starred):
            value = interpreter.evaluate(part.value, scope)
            if isinstance(value, Listing) and not value.open and len(value.items) <= 64:
                args += value.items
            else:
                keywords[OPEN] = value
        else:
            args.append(interpreter.evaluate(part, scope))
    for keyword in node.keywords:
        value = interpreter.evaluate(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords |= {str(k): v for k, v in value.items.items()}
            if value.open:
                keywords[OPEN] = value
        else:
            keywords[OPEN] = value
    return args, keywords


def call_value(
    interpreter: Interpreter, callee: Value, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """What calling the value gives."""
    match callee:
        case Function():
            return call_function(interpreter, callee, args, keywords, line)
        case Graph():
            return call_graph(interpreter, callee, args, keywords, line)
        case Api():
            return library.call(interpreter, callee.name, args, keywords, line)
        case Bound(function=Function() as function):
            return call_function(interpreter, function, [callee.owner, *args], keywords, line)
        case Bound(function=Graph() as graph):
            return call_graph(interpreter, graph, [callee.owner, *args], keywords, line)
        case Bound():
            return methods.call(interpreter, callee, args, keywords, line)
        case Class():
            return instantiate(interpreter, callee, args, keywords, line)
        case Instance():
            return _call_instance(interpreter, callee, args, keywords, line)
        case Partial():
            return call_value(
                interpreter, callee.target, [*callee.args, *args], {**callee.keywords, **keywords}, line
            )
        case Model() | Layer():
            return methods.call_layer(interpreter, callee, args, line)
        case OpaqueObject(kind="object", data=str(name)) if name.startswith("tf.keras."):
            result = Tensor(None, None)
            interpreter.event("op", name, line, {str(i): a for i, a in enumerate(args)}, result)
            return result
        case OpaqueObject(kind="python-function", data=(str(name), Value() as target)):
            inputs = Listing("list", args)
            return library.call(interpreter, name, [target, inputs], {}, line)
        case OpaqueObject(kind="decorator" | "python-decorator"):
            return apply_decorator(interpreter, callee, args[0] if args else NONE, line)
        case _:
            return opaque(interpreter, callee, args, line)


def opaque(interpreter: Interpreter, callee: Value, args: list[Value], line: int) -> Value:
    """A call of something that is not known. It may do any work, and may wait for it."""
    reason = callee.reason if isinstance(callee, Unknown) else "a call that is not followed"
    interpreter.event("opaque", reason, line, {str(i): a for i, a in enumerate(args)})
    return Unknown(reason, callee.line if isinstance(callee, Unknown) and callee.line else line)


def call_function(
    interpreter: Interpreter,
    function: Function,
    args: list[Value],
    keywords: Keywords,
    line: int,
    hook: Callable[[Value], None] | None = None,
) -> Value:
    """Read the function's body with its parameters bound. A function is not read inside itself."""
    function.called = True
    if function.kind == "context" and hook is None:
        return OpaqueObject("generated", (function, args, keywords))
    inside = any(
        frame.function is not None and frame.function.node is function.node for frame in interpreter.frames
    )
    if inside or len(interpreter.frames) > MOST_CALLS_DEEP:
        interpreter.event("opaque", f"{function.name}: recursion is not followed", line)
        return Unknown(f"{function.name} calls itself", line)
    scope = Scope({}, function.scope)
    _bind(function, args, keywords, scope, line)
    interpreter.frames.append(Frame(function, hook=hook))
    try:
        with interpreter.at(function=function.name):
            if isinstance(function.node, ast.Lambda):
                return interpreter.evaluate(function.node.body, scope)
            interpreter.execute(function.node.body, scope)
    finally:
        frame = interpreter.frames.pop()
    if interpreter.once(function.node, _is_generator):
        return OpaqueObject("generator", Listing("list", frame.returned[:8], open=True))
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


def call_graph(
    interpreter: Interpreter, graph: Graph, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Call a `tf.function`: its Python runs once, while it is traced; then the graph runs."""
    inside = interpreter.in_graph() is not None
    traced = interpreter.place.traced or Traced("tf.function", graph.line, graph)
    with interpreter.at(traced=traced):
        result = call_value(interpreter, graph.target, args, keywords, line)
    if not inside:
        for part in parts_of(result):
            part.inside, part.made = False, -1
        found = parts_of(result)
        interpreter.event("graph", name_of(graph.target), line, {"graph": graph}, result)
        for part in found:
            part.made = len(interpreter.trace.events) - 1
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


def instantiate(
    interpreter: Interpreter, made: Class, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """An object of one of the document's classes, with `__init__` read."""
    instance = Instance(made)
    if made.body is not None and not made.body.instances:
        made.body.instances.append(instance)
    init = made.find("__init__")
    if isinstance(init, Function):
        call_function(interpreter, init, [instance, *args], keywords, line)
    if made.library_base().startswith(("tf.keras", "tf.Module")):
        interpreter.event("build", made.library_base(), line)
    return instance


def _call_instance(
    interpreter: Interpreter, instance: Instance, args: list[Value], keywords: Keywords, line: int
) -> Value:
    for name in ("__call__", "call"):
        method = instance.of.find(name)
        if method is not None:
            return call_value(interpreter, method, [instance, *args], keywords, line)
    base = instance.of.library_base()
    if base.startswith("tf."):
        result = Tensor(None, None)
        interpreter.event("op", base, line, {"x": args[0]} if args else {}, result)
        return result
    return opaque(
        interpreter, Unknown(f"{instance.of.name} is not callable in the document", line), args, line
    )


def apply_decorator(interpreter: Interpreter, decorator: Value, target: Value, line: int) -> Value:
    """What a decorator makes of a function. One that is not known is taken to keep what it decorates."""
    match decorator:
        case Api(name="tf.function"):
            return Graph(target, None, line)
        case OpaqueObject(kind="python-decorator"):
            return OpaqueObject("python-function", (decorator.data, target))
        case OpaqueObject(kind="decorator"):
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
            made = call_value(interpreter, decorator, [target], {}, line)
            if not isinstance(made, Unknown):
                return made
        case Unknown():
            interpreter.note(line, f"a decorator is not followed: {decorator.reason}")
        case _:
            pass
    return target
