"""Interprets each kind of statement."""

import ast
import re

from tuilab.documents.interpreter import expressions, names
from tuilab.documents.interpreter.arithmetic import LONGEST_LIST
from tuilab.documents.interpreter.calls import apply_decorator
from tuilab.documents.interpreter.interpreter import Exhausted, Flow, Interpreter, statement
from tuilab.documents.interpreter.items import bind_target
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.trace import Handler, Try
from tuilab.documents.interpreter.values import (
    NONE,
    VARIES,
    Api,
    Class,
    Clock,
    Elapsed,
    Function,
    Graph,
    Known,
    Listing,
    Model,
    Number,
    Tensor,
    Unknown,
    Value,
    is_number,
    truth,
)
from tuilab.documents.words import words

# Errors for a missing name. A `try` that catches one of them expects the name to be missing in some versions.
MISSING = ("", *words("AttributeError ImportError ModuleNotFoundError NameError Exception BaseException"))


@statement(ast.Expr)
def expression(interpreter: Interpreter, node: ast.Expr, scope: Scope) -> Flow:
    value = interpreter.evaluate(node.value, scope)
    if isinstance(value, Elapsed) and node is not interpreter.shown:
        region = interpreter.trace.regions[value.region]
        region.discarded = not region.told
    return Flow.RAISE if interpreter.once(node, _exits) else Flow.NEXT


def _exits(node: ast.Expr) -> bool:
    name = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
    return name in ("sys.exit", "exit", "quit", "os._exit")


@statement(ast.Assign)
def assign(interpreter: Interpreter, node: ast.Assign, scope: Scope) -> Flow:
    value = interpreter.evaluate(node.value, scope)
    if isinstance(node.value, ast.Name) and isinstance(value, Tensor):
        # Assigning to an item copies the value instead of binding a name.
        items = all(isinstance(target, ast.Subscript) for target in node.targets)
        interpreter.event(
            "bind", node.value.id, node.lineno, {"value": value, **({"item": Known(True)} if items else {})}
        )
    if _adds(node):
        interpreter.gather(value)
    for target in node.targets:
        bind_target(interpreter, target, value, scope)
        if isinstance(value, Graph) and isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
            value.name = value.name or target.id
        if isinstance(target, ast.Name) and _asks_for_name(interpreter, node.value):
            interpreter.versions.add(target.id)
    return Flow.NEXT


def _adds(node: ast.Assign) -> bool:
    given = node.value
    if not isinstance(given, ast.BinOp) or not isinstance(given.op, ast.Add):
        return False
    return ast.unparse(node.targets[0]) in (ast.unparse(given.left), ast.unparse(given.right))


@statement(ast.AnnAssign)
def annotated(interpreter: Interpreter, node: ast.AnnAssign, scope: Scope) -> Flow:
    if node.value is not None:
        bind_target(interpreter, node.target, interpreter.evaluate(node.value, scope), scope)
    return Flow.NEXT


@statement(ast.AugAssign)
def augmented(interpreter: Interpreter, node: ast.AugAssign, scope: Scope) -> Flow:
    old = interpreter.evaluate(node.target, scope)
    value = interpreter.evaluate(node.value, scope)
    interpreter.gather(value)
    if isinstance(old, Listing) and isinstance(node.op, ast.Add):
        if isinstance(value, Listing) and len(old.items) + len(value.items) <= LONGEST_LIST:
            old.items += value.items
        else:
            old.open = True
        return Flow.NEXT
    if interpreter.in_graph() and not isinstance(old, Tensor) and _outlives(interpreter, node.target, scope):
        interpreter.event("effect", f"the update of {ast.unparse(node.target)[:60]}", node.lineno)
    result = expressions.operate(interpreter, node.op, old, value, node.lineno)
    if isinstance(old, Clock) and interpreter.place.loops:
        # An earlier reading was subtracted from the sum, so this addition completes a measured time.
        interpreter.gather(result)
    if interpreter.place.loops and isinstance(result, Known):
        # A counter changes in each iteration, so no single value holds for the whole loop.
        kind = Number if is_number(result) else Unknown
        result = kind(VARIES, node.lineno)
    bind_target(interpreter, node.target, result, scope)
    return Flow.NEXT


def _outlives(interpreter: Interpreter, target: ast.expr, scope: Scope) -> bool:
    """Return True if the assignment target is still visible after the function call: a global, an attribute
    or an item.
    """
    if isinstance(target, ast.Name):
        return target.id in scope.elsewhere
    return isinstance(target, ast.Attribute | ast.Subscript)


@statement(ast.If)
def condition(interpreter: Interpreter, node: ast.If, scope: Scope) -> Flow:
    test = interpreter.condition(node.test, scope)
    interpreter.reads(test, "if", node.lineno)
    known = truth(test)
    if known is not None:
        if not isinstance(node.test, ast.Constant) and not _is_of_versions(interpreter, node.test):
            _name(interpreter, node.orelse if known else node.body, scope)
        return interpreter.execute(node.body if known else node.orelse, scope)
    guarded = _asks_for_name(interpreter, node.test)
    interpreter.guards += guarded
    other = interpreter.once(node.test, _is_of_other_backend)

    def body() -> Flow:
        interpreter.guards += other
        flow = interpreter.execute(node.body, scope)
        interpreter.guards -= other
        return flow

    reads = [body, lambda: interpreter.execute(node.orelse, scope)]
    flows = interpreter.branch(reads, node.lineno)
    interpreter.guards -= guarded
    # If either branch continues, the code after the `if` runs. A return value of the other branch is already
    # recorded.
    return Flow.NEXT if Flow.NEXT in flows else flows[0]


def _is_of_other_backend(test: ast.expr) -> bool:
    return bool(_OTHER_BACKEND.search(ast.unparse(test)[:400]))


_OTHER_BACKEND = re.compile(r"==\s*['\"](?:(?:py)?torch|jax|mxnet|theano|cntk|paddle)['\"]", re.IGNORECASE)
_VERSIONS = re.compile(
    r"tf|tensorflow|keras|version|legacy|compat|old|v[12]|py[23]|__name__|TYPE_CHECKING", re.I
)


def _is_of_versions(interpreter: Interpreter, test: ast.expr) -> bool:
    """Return True if a condition may compare versions of a library. Names in its branches may then exist in
    only one version.
    """
    return interpreter.once(test, _names_versions) or _asks_for_name(interpreter, test)


def _names_versions(test: ast.expr) -> bool:
    return bool(_VERSIONS.search(ast.unparse(test)[:400]))


def _name(interpreter: Interpreter, statements: list[ast.stmt], scope: Scope) -> None:
    """Record the library names in a branch that the interpreter does not take, so that the checker still
    checks them.
    """
    waiting: list[ast.AST] = list(statements)
    while waiting:
        node = waiting.pop()
        interpreter.steps -= 1
        if interpreter.steps < 0:
            raise Exhausted
        if isinstance(node, ast.Try | ast.With):
            continue
        if isinstance(node, ast.Attribute):
            found = _library(node, scope)
            if found is not None:
                interpreter.use(found, node.lineno)
                continue
        waiting += ast.iter_child_nodes(node)


def _library(node: ast.Attribute, scope: Scope) -> Api | None:
    """Return the library name that `a.b.c` refers to, without evaluating it; None if it refers to anything
    else.
    """
    links: list[ast.Attribute] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        links.append(inner)
        inner = inner.value
    value = scope.find(inner.id) if isinstance(inner, ast.Name) else None
    for link in reversed(links):
        value = names.member(value, link.attr, link.lineno) if isinstance(value, Api) else None
    return value if isinstance(value, Api) else None


def _asks_for_name(interpreter: Interpreter, test: ast.expr) -> bool:
    """Return True for conditions such as `hasattr(tf, "x")` or `tf.__version__ >= …`, whose branches may use
    names of another version.
    """
    asks, names = interpreter.once(test, _looks_up)
    return asks or not interpreter.versions.isdisjoint(names)


def _looks_up(test: ast.expr) -> tuple[bool, frozenset[str]]:
    """Return whether the expression checks a version or the existence of a name, and the set of all names in
    the expression.
    """
    asks, names = False, set[str]()
    for part in ast.walk(test):
        if isinstance(part, ast.Name):
            names.add(part.id)
        asks = asks or (isinstance(part, ast.Attribute) and part.attr in ("__version__", "VERSION"))
    asks = asks or "hasattr" in names or bool(_TELLS_VERSION.search(ast.unparse(test)[:400]))
    return asks, frozenset(names)


# Names that distinguish TensorFlow versions: `is_v2_0()`, `use_tf2`, `args.legacy`.
_TELLS_VERSION = re.compile(
    r"\b(?:is|use|using|has)_(?:tf_?)?v?[12](?:_?[\dx])?(?:_enabled)?\b|\b(?:is_|use_)?tf_?v?[12]\b|\b\w*version\w*\b",
    re.IGNORECASE,
)


@statement(ast.Match)
def match(interpreter: Interpreter, node: ast.Match, scope: Scope) -> Flow:
    interpreter.evaluate(node.subject, scope)
    reads = [lambda case=case: interpreter.execute(case.body, scope) for case in node.cases]
    flows = interpreter.branch([*reads, lambda: Flow.NEXT], node.lineno)
    return Flow.NEXT if Flow.NEXT in flows else flows[0]


@statement(ast.Try, ast.TryStar)
def attempt(interpreter: Interpreter, node: "ast.Try | ast.TryStar", scope: Scope) -> Flow:
    handlers = tuple(Handler(_caught(h, scope, interpreter), h.lineno) for h in node.handlers)
    record = Try(interpreter.document_line(node.lineno), handlers, len(interpreter.trace.events))
    interpreter.trace.tries.append(record)
    expects = any(name.rpartition(".")[2] in MISSING for h in handlers for name in h.names)
    interpreter.guards += expects
    with interpreter.at(tries=(*interpreter.place.tries, record)):
        flow = interpreter.execute(node.body, scope)
    interpreter.guards -= expects
    record.last = len(interpreter.trace.events) - 1
    for handler in node.handlers:
        if handler.name:
            interpreter.journal.write(scope.names, handler.name, Unknown("an error", handler.lineno))
    if node.handlers:
        reads = [
            lambda body=h.body, caught=c: _handle(interpreter, body, caught, scope)
            for h, c in zip(node.handlers, handlers, strict=True)
        ]
        interpreter.branch([*reads, lambda: Flow.NEXT], node.lineno)
    if flow is Flow.NEXT and node.orelse:
        flow = interpreter.execute(node.orelse, scope)
    ending = interpreter.execute(node.finalbody, scope)
    return flow if ending is Flow.NEXT else ending


def _handle(interpreter: Interpreter, body: list[ast.stmt], caught: Handler, scope: Scope) -> Flow:
    other = bool(caught.names) and all(name.rpartition(".")[2] in _OF_NAMES for name in caught.names)
    interpreter.guards += other
    flow = interpreter.execute(body, scope)
    interpreter.guards -= other
    return flow


_OF_NAMES = words("AttributeError ImportError ModuleNotFoundError NameError")


def _caught(handler: ast.ExceptHandler, scope: Scope, interpreter: Interpreter) -> tuple[str, ...]:
    if handler.type is None:
        return ("",)
    value = interpreter.evaluate(handler.type, scope)
    parts = value.items if isinstance(value, Listing) else [value]
    return tuple(_error_name(part) for part in parts)


def _error_name(value: Value) -> str:
    if isinstance(value, Api):
        return value.name.removeprefix("builtins.")
    if isinstance(value, Class):
        return value.library_base().removeprefix("builtins.") or "?"
    return "?"


@statement(ast.Return)
def returns(interpreter: Interpreter, node: ast.Return, scope: Scope) -> Flow:
    value = interpreter.evaluate(node.value, scope) if node.value is not None else NONE
    interpreter.frames[-1].returned.append(value)
    return Flow.RETURN


@statement(ast.Raise)
def raises(interpreter: Interpreter, node: ast.Raise, scope: Scope) -> Flow:
    if node.exc is not None:
        interpreter.evaluate(node.exc, scope)
    return Flow.RAISE


@statement(ast.Break)
def breaks(interpreter: Interpreter, node: ast.Break, scope: Scope) -> Flow:
    return Flow.BREAK


@statement(ast.Continue)
def continues(interpreter: Interpreter, node: ast.Continue, scope: Scope) -> Flow:
    return Flow.CONTINUE


@statement(ast.Assert)
def asserts(interpreter: Interpreter, node: ast.Assert, scope: Scope) -> Flow:
    interpreter.reads(interpreter.evaluate(node.test, scope), "assert", node.lineno)
    match node.test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
            of = interpreter.evaluate(kind, scope)
            unknown = isinstance(interpreter.evaluate(node.test.args[0], scope), Unknown)
            if unknown and isinstance(of, Api) and of.name.endswith("keras.Model"):
                model = Model([], node.lineno, open=True, assumed=True)
                interpreter.journal.write(scope.elsewhere.get(name, scope).names, name, model)
    return Flow.NEXT


@statement(ast.Delete)
def deletes(interpreter: Interpreter, node: ast.Delete, scope: Scope) -> Flow:
    return Flow.NEXT


@statement(ast.Global, ast.Nonlocal)
def elsewhere(interpreter: Interpreter, node: "ast.Global | ast.Nonlocal", scope: Scope) -> Flow:
    for name in node.names:
        target: Scope | None = scope.module() if isinstance(node, ast.Global) else scope.parent
        while isinstance(node, ast.Nonlocal) and target is not None and name not in target.names:
            target = target.parent
        if target is not None and target is not scope:
            scope.elsewhere[name] = target
    return Flow.NEXT


@statement(ast.FunctionDef, ast.AsyncFunctionDef)
def defines(interpreter: Interpreter, node: "ast.FunctionDef | ast.AsyncFunctionDef", scope: Scope) -> Flow:
    function = Function(node, scope, node.name, interpreter.place.block, file=interpreter.place.file)
    expressions.bind_defaults(interpreter, function, scope)
    if not function.file:
        interpreter.functions.append(function)
    value: Value = function
    for decorator in reversed(node.decorator_list):
        made = interpreter.evaluate(decorator, scope)
        value = apply_decorator(interpreter, made, value, decorator.lineno)
    interpreter.journal.write(scope.names, node.name, value)
    return Flow.NEXT


@statement(ast.ClassDef)
def defines_class(interpreter: Interpreter, node: ast.ClassDef, scope: Scope) -> Flow:
    bases = tuple(interpreter.evaluate(base, scope) for base in node.bases)
    body = Scope({}, scope, is_class=True)
    interpreter.execute(node.body, body)
    made = Class(node.name, body.names, bases, node.lineno, body)
    body.owner = made
    for decorator in node.decorator_list:
        interpreter.evaluate(decorator, scope)
    interpreter.journal.write(scope.names, node.name, made)
    return Flow.NEXT
