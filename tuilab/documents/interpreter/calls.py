"""Evaluates calls. Interprets the bodies of the document's own functions and classes at each call; other
modules of this package evaluate calls of libraries.
"""

import ast
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tuilab.documents.interpreter import builtin_calls, methods, objects, timers
from tuilab.documents.interpreter.interpreter import (
    MOST_CALLS_DEEP,
    Frame,
    Interpreter,
    Keywords,
    calls_of,
    expression,
    numbered,
)
from tuilab.documents.interpreter.library import OPEN
from tuilab.documents.interpreter.scope import Scope, either
from tuilab.documents.interpreter.trace import Traced
from tuilab.documents.interpreter.unread import (
    assumed_by,
    assumes_keras,
    callee,
    is_model,
    times_functions,
)
from tuilab.documents.interpreter.values import (
    NONE,
    RESULT_OF,
    Api,
    Bound,
    Class,
    Function,
    Graph,
    Instance,
    Listing,
    Mapping,
    Model,
    OpaqueObject,
    Partial,
    Tensor,
    Unknown,
    Value,
)


@expression(ast.Call)
def call(interpreter: Interpreter, node: ast.Call, scope: Scope) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id in builtin_calls.WITH_SCOPE:
        found = scope.find(node.func.id)
        if found is None:
            return builtin_calls.with_scope(interpreter, node, scope)
    callee = interpreter.evaluate(node.func, scope)
    if isinstance(callee, Unknown) and callee.reason in _UNNAMED:
        callee = _name_callee(node.func, callee)
    args, keywords = arguments(interpreter, node, scope)
    # In a chain over several lines, a call belongs to the line of its own name.
    return interpreter.call(callee, args, keywords, interpreter.away or node.func.end_lineno or node.lineno)


# Reasons why a callee is unknown that do not include its name.
_UNNAMED = ("it depends on a condition", "an unknown item")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*$")


def _name_callee(node: ast.expr, callee: Unknown) -> Unknown:
    """Add the callee's name, as spelled in the code, to the reason why the callee is unknown."""
    name = ast.unparse(node)[:_LONGEST_NAME] if isinstance(node, ast.Name | ast.Attribute) else ""
    if not _DOTTED.match(name):
        return callee
    return Unknown(f"{name} is set in several ways", callee.line, callee.options)


_LONGEST_NAME = 80


def arguments(interpreter: Interpreter, node: ast.Call, scope: Scope) -> tuple[list[Value], Keywords]:
    """Return the positional and keyword arguments. Expands starred arguments whose items are known."""
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


@calls_of(Bound)
def call_bound(
    interpreter: Interpreter, bound: Bound, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Evaluate a method call. A method of a class in the document gets its object as `self`."""
    if isinstance(bound.function, Function | Graph):
        return interpreter.call(bound.function, [bound.owner, *args], keywords, line)
    return methods.call(interpreter, bound, args, keywords, line)


_CALLABLE = (Function, Graph, Bound, Partial, Model, Class, Instance)


@calls_of(Unknown)
def call_either(
    interpreter: Interpreter, unknown: Unknown, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Evaluate the call for each possible callee. Assumes that an unknown callee may do any work."""
    options = unknown.options
    if "training" in keywords and assumes_keras(interpreter.imported):
        # Only Keras models and layers accept the keyword `training`.
        made = Model([], line, open=True, assumed=True)
        model = interpreter.left_out.setdefault((unknown.reason, unknown.line), made)
        return interpreter.call(model, args, keywords, line)
    if not 1 < len(options) <= _FEW_OPTIONS or not all(isinstance(o, _CALLABLE) for o in options):
        return interpreter.opaque(unknown, args, line)
    found = interpreter.branch(
        [partial(interpreter.call, option, args, keywords, line) for option in options], line
    )
    return _returned(found, line)


_FEW_OPTIONS = 4


@calls_of(Partial)
def call_partial(
    interpreter: Interpreter, made: Partial, args: list[Value], keywords: Keywords, line: int
) -> Value:
    return interpreter.call(made.target, [*made.args, *args], {**made.keywords, **keywords}, line)


@calls_of(OpaqueObject)
def call_object(
    interpreter: Interpreter, callee: OpaqueObject, args: list[Value], keywords: Keywords, line: int
) -> Value:
    match callee:
        case OpaqueObject(kind="object", data=str(name)) if name.startswith("tf.keras."):
            return interpreter.make("op", name, line, numbered(args), Tensor(None, None))
        case OpaqueObject(kind="python-function", data=(str(name), Value() as target)):
            return interpreter.call(Api(name), [target, Listing("list", args)], {}, line)
        case OpaqueObject(kind="saved"):
            return objects.call_saved(interpreter, callee, args, keywords, line)
        case OpaqueObject(kind="runner"):
            # TFLite signature functions return their outputs by name.
            interpreter.event("host-op", "invoke", line, {"self": callee.data}, Tensor(None, None, "np"))
            return Mapping({}, open=True)
        case OpaqueObject(kind="timed", data=Function() as function):
            start = interpreter.clock("a timer", line)
            given = interpreter.call(function, args, keywords, line)
            end = interpreter.clock("a timer", line)
            interpreter.region(start.event, end.event, name=function.name)
            return given
        case OpaqueObject(kind="benchmark"):
            return timers.pytest_benchmark(interpreter, "", args, keywords, line)
        case OpaqueObject(kind="decorator" | "python-decorator"):
            return apply_decorator(interpreter, callee, args[0] if args else NONE, line)
        case _:
            return interpreter.opaque(callee, args, line)


@calls_of(Function)
def call_function(
    interpreter: Interpreter,
    function: Function,
    args: list[Value],
    keywords: Keywords,
    line: int,
    hook: Callable[[Value], None] | None = None,
) -> Value:
    """Interpret the function's body with its parameters bound. Recursive calls are not followed."""
    function.called = True
    if function.kind == "context" and hook is None:
        return OpaqueObject("generated", (function, args, keywords))
    inside = any(
        frame.function is not None and frame.function.node is function.node for frame in interpreter.frames
    )
    if inside or len(interpreter.frames) > MOST_CALLS_DEEP:
        interpreter.event("opaque", f"{function.name}: recursion is not evaluated", line)
        return Unknown(f"{function.name} calls itself", line)
    scope = Scope({}, function.scope)
    _bind(function, args, keywords, scope, line, _assumed_in(interpreter, function))
    interpreter.frames.append(Frame(function, hook=hook))
    try:
        with interpreter.reading(function.file, line), interpreter.at(function=function.name):
            if isinstance(function.node, ast.Lambda):
                return interpreter.evaluate(function.node.body, scope)
            interpreter.execute(function.node.body, scope)
    finally:
        frame = interpreter.frames.pop()
    if interpreter.yields and interpreter.once(function.node, _is_generator):
        return OpaqueObject("generator", Listing("list", frame.returned[:8], open=True))
    return _returned(frame.returned, line)


def _returned(values: list[Value], line: int) -> Value:
    result: Value | None = None
    for value in values:
        result = either(result, value, line)
    return NONE if result is None else result


def _is_generator(node: ast.AST) -> bool:
    stack = list(ast.iter_child_nodes(node))
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack += ast.iter_child_nodes(part)
    return False


def _assumed_in(interpreter: Interpreter, function: Function) -> dict[str, str]:
    """Guess which parameters are a Keras model, a session or a TFLite interpreter, from their names and from
    the methods that the function calls on them. Return the kinds by parameter name.
    """
    node = function.node
    found = interpreter.assumed_in.get(id(node))
    if found is None:
        names = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        body = node.body if isinstance(node.body, list) else [node.body]
        found = {name: "model" for name in names if is_model(name)}
        for part in (part for statement in body for part in ast.walk(statement)):
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                kind = assumed_by(part.value.id, part.attr)
                if kind and part.value.id in names:
                    found[part.value.id] = kind
            elif (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Name)
                and part.func.id in names
                and any(k.arg == "training" for k in part.keywords)
            ):
                found[part.func.id] = "model"
        interpreter.assumed_in[id(node)] = found
    if not assumes_keras(interpreter.imported):
        return {name: kind for name, kind in found.items() if kind == "lite"}
    unlike = "model" if interpreter.deferred else ""
    return {name: kind for name, kind in found.items() if kind != unlike}


def _bind(
    function: Function,
    args: list[Value],
    keywords: Keywords,
    scope: Scope,
    line: int,
    assumed: dict[str, str],
) -> None:
    """Bind parameters as Python does. A missing argument becomes an unknown value with the parameter's
    name.
    """
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
        elif name in assumed:
            scope.names[name] = objects.assumed(assumed[name], line)
        else:
            scope.names[name] = Unknown(f"{name} is a parameter of {function.name}", line)
    if spec.vararg is not None:
        scope.names[spec.vararg.arg] = Listing("tuple", args[len(plain) :], OPEN in keywords)
    if spec.kwarg is not None:
        scope.names[spec.kwarg.arg] = Mapping(dict(rest), OPEN in keywords)


@calls_of(Graph)
def call_graph(
    interpreter: Interpreter, graph: Graph, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Evaluate the call of a `tf.function`: its Python code runs once, during tracing, and then the graph
    runs.
    """
    inside = interpreter.in_graph() is not None
    given_here = (*args, *keywords.values())
    traced = interpreter.place.traced or Traced("tf.function", graph.line, graph, given_here)
    with interpreter.at(traced=traced):
        result = interpreter.call(graph.target, args, keywords, line)
    if not inside:
        for part in parts_of(result):
            part.inside, part.made = False, -1
        found = parts_of(result)
        given = by_parameter(graph.target, args, keywords)
        interpreter.event("graph", name_of(graph), line, given, result).runs = graph
        for part in found:
            part.made = len(interpreter.trace.events) - 1
    return result


def by_parameter(target: Value, args: list[Value], keywords: Keywords) -> dict[str, Value]:
    """Return the arguments by parameter name, or by position if the parameter name is unknown."""
    spec = target.node.args if isinstance(target, Function) else None
    names = [p.arg for p in (*spec.posonlyargs, *spec.args)] if spec else []
    return {names[int(at)] if int(at) < len(names) else at: v for at, v in numbered(args).items()} | keywords


def parts_of(value: Value) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Listing):
        return [t for item in value.items for t in parts_of(item)]
    if isinstance(value, Mapping):
        return [t for item in value.items.values() for t in parts_of(item)]
    return []


def name_of(value: Value) -> str:
    if isinstance(value, Graph | Partial):
        return (value.name if isinstance(value, Graph) else "") or name_of(value.target)
    return value.name if isinstance(value, Function | Bound | Api) else "a function"


@calls_of(Class)
def instantiate(
    interpreter: Interpreter, made: Class, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Create an object of one of the document's classes by interpreting its `__init__`."""
    instance = Instance(made)
    if made.body is not None and not made.body.instances:
        made.body.instances.append(instance)
    init = made.find("__init__")
    if isinstance(init, Function):
        call_function(interpreter, init, [instance, *args], keywords, line)
    if made.library_base().startswith(("tf.keras", "tf.Module")):
        interpreter.event("build", made.library_base(), line)
    return instance


@calls_of(Instance)
def call_instance(
    interpreter: Interpreter, instance: Instance, args: list[Value], keywords: Keywords, line: int
) -> Value:
    for name in ("__call__", "call"):
        method = instance.of.find(name)
        if method is not None:
            return interpreter.call(method, [instance, *args], keywords, line)
    base = instance.of.library_base()
    if base.startswith("tf."):
        return interpreter.make("op", base, line, {"x": args[0]} if args else {}, Tensor(None, None))
    return interpreter.opaque(
        Unknown(f"{instance.of.name} is not callable in the document", line), args, line
    )


def _times(decorator: Api | Unknown) -> bool:
    name = decorator.name if isinstance(decorator, Api) else callee(decorator.reason)
    given = isinstance(decorator, Api) or decorator.reason.startswith(RESULT_OF)
    return given and times_functions(name)


def apply_decorator(interpreter: Interpreter, decorator: Value, target: Value, line: int) -> Value:
    """Return the decorated function. Assumes that an unknown decorator leaves the function unchanged."""
    match decorator:
        case Api(name="tf.function"):
            interpreter.event("config", "tf.function", line)
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
            made = interpreter.call(decorator, [target], {}, line)
            if not isinstance(made, Unknown):
                return made
        case Api() | Unknown() if isinstance(target, Function) and _times(decorator):
            return OpaqueObject("timed", target)
        case Unknown():
            interpreter.note(line, f"a decorator is not evaluated: {decorator.reason}")
        case _:
            pass
    return target
