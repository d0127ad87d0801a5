"""What each kind of statement does."""

import ast
from collections.abc import Callable

from tuilab.documents.reading import expressions, imports
from tuilab.documents.reading.arithmetic import LONGEST_LIST
from tuilab.documents.reading.calls import apply_decorator, call_value
from tuilab.documents.reading.items import bind_target
from tuilab.documents.reading.reader import STATEMENTS, Execute, Flow, Reader
from tuilab.documents.reading.scope import Scope
from tuilab.documents.reading.trace import Handler, Try
from tuilab.documents.reading.values import (
    NONE,
    Api,
    Class,
    Elapsed,
    Function,
    Instance,
    Known,
    Listing,
    Tensor,
    Unknown,
    Value,
    truth,
)

# Errors that say a name is missing: inside such a `try`, a missing name is expected.
MISSING = (
    "AttributeError",
    "ImportError",
    "ModuleNotFoundError",
    "NameError",
    "Exception",
    "BaseException",
    "",
)


def statement(*kinds: type[ast.stmt]) -> Callable[[Execute], Execute]:
    """Register the reader of some kinds of statement."""

    def register(function: Execute) -> Execute:
        for kind in kinds:
            STATEMENTS[kind] = function
        return function

    return register


@statement(ast.Expr)
def expression(reader: Reader, node: ast.Expr, scope: Scope) -> Flow:
    value = reader.evaluate(node.value, scope)
    if isinstance(value, Elapsed):
        reader.trace.regions[value.region].discarded = True
    return Flow.NEXT


@statement(ast.Assign)
def assign(reader: Reader, node: ast.Assign, scope: Scope) -> Flow:
    value = reader.evaluate(node.value, scope)
    if isinstance(node.value, ast.Name) and isinstance(value, Tensor):
        reader.event("bind", node.value.id, node.lineno, {"value": value})
    for target in node.targets:
        bind_target(reader, target, value, scope)
    return Flow.NEXT


@statement(ast.AnnAssign)
def annotated(reader: Reader, node: ast.AnnAssign, scope: Scope) -> Flow:
    if node.value is not None:
        bind_target(reader, node.target, reader.evaluate(node.value, scope), scope)
    return Flow.NEXT


@statement(ast.AugAssign)
def augmented(reader: Reader, node: ast.AugAssign, scope: Scope) -> Flow:
    old = reader.evaluate(node.target, scope)
    value = reader.evaluate(node.value, scope)
    if isinstance(old, Listing) and isinstance(node.op, ast.Add):
        if isinstance(value, Listing) and len(old.items) + len(value.items) <= LONGEST_LIST:
            old.items += value.items
        else:
            old.open = True
        return Flow.NEXT
    if reader.in_graph() and not isinstance(old, Tensor) and _outlives(reader, node.target, scope):
        reader.event("effect", f"a change of {ast.unparse(node.target)[:60]}", node.lineno)
    result = expressions.operate(reader, node.op, old, value, node.lineno)
    if reader.place.loops and isinstance(result, Known):
        # A counter has its value of one iteration only.
        result = Unknown("it changes from one iteration to the next", node.lineno)
    bind_target(reader, node.target, result, scope)
    return Flow.NEXT


def _outlives(reader: Reader, target: ast.expr, scope: Scope) -> bool:
    """Whether the target is something that stays after the function: a global, an attribute, an item."""
    if isinstance(target, ast.Name):
        return target.id in scope.elsewhere
    return isinstance(target, ast.Attribute | ast.Subscript)


@statement(ast.If)
def condition(reader: Reader, node: ast.If, scope: Scope) -> Flow:
    test = reader.condition(node.test, scope)
    if isinstance(test, Tensor) and not test.inside and not reader.in_graph():
        reader.sync("bool()", node.lineno, test)
    known = truth(test)
    if known is not None:
        return reader.execute(node.body if known else node.orelse, scope)
    guarded = reader.once(node.test, _asks_for_name)
    reader.guards += guarded
    reads = [lambda: reader.execute(node.body, scope), lambda: reader.execute(node.orelse, scope)]
    flows = reader.branch(reads, node.lineno)
    reader.guards -= guarded
    # Where one branch goes on, so does the reading: what the other returned was kept.
    return Flow.NEXT if Flow.NEXT in flows else flows[0]


def _asks_for_name(test: ast.expr) -> bool:
    """`if hasattr(tf, "x")`, `if tf.__version__ >= …`: names below it may be of another version."""
    for part in ast.walk(test):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "hasattr":
            return True
        if isinstance(part, ast.Attribute) and part.attr in ("__version__", "VERSION"):
            return True
    return False


@statement(ast.Match)
def match(reader: Reader, node: ast.Match, scope: Scope) -> Flow:
    reader.evaluate(node.subject, scope)
    reads = [lambda case=case: reader.execute(case.body, scope) for case in node.cases]
    flows = reader.branch([*reads, lambda: Flow.NEXT], node.lineno)
    return Flow.NEXT if Flow.NEXT in flows else flows[0]


@statement(ast.Try, ast.TryStar)
def attempt(reader: Reader, node: "ast.Try | ast.TryStar", scope: Scope) -> Flow:
    handlers = tuple(Handler(_caught(h, scope, reader), h.lineno) for h in node.handlers)
    record = Try(node.lineno, handlers, len(reader.trace.events), block=reader.place.block)
    reader.trace.tries.append(record)
    expects = any(name.rpartition(".")[2] in MISSING for h in handlers for name in h.names)
    reader.guards += expects
    with reader.at(tries=(*reader.place.tries, record)):
        flow = reader.execute(node.body, scope)
    reader.guards -= expects
    record.last = len(reader.trace.events) - 1
    for handler in node.handlers:
        if handler.name:
            reader.journal.write(scope.names, handler.name, Unknown("an error", handler.lineno))
    if node.handlers:
        reads = [lambda h=h: reader.execute(h.body, scope) for h in node.handlers]
        reader.branch([*reads, lambda: Flow.NEXT], node.lineno)
    if flow is Flow.NEXT and node.orelse:
        flow = reader.execute(node.orelse, scope)
    ending = reader.execute(node.finalbody, scope)
    return flow if ending is Flow.NEXT else ending


def _caught(handler: ast.ExceptHandler, scope: Scope, reader: Reader) -> tuple[str, ...]:
    """The dotted names of the errors that a handler catches."""
    if handler.type is None:
        return ("",)
    value = reader.evaluate(handler.type, scope)
    parts = value.items if isinstance(value, Listing) else [value]
    return tuple(_error_name(part) for part in parts)


def _error_name(value: Value) -> str:
    if isinstance(value, Api):
        return value.name.removeprefix("builtins.")
    if isinstance(value, Class):
        return value.library_base().removeprefix("builtins.") or "?"
    return "?"


@statement(ast.Return)
def returns(reader: Reader, node: ast.Return, scope: Scope) -> Flow:
    value = reader.evaluate(node.value, scope) if node.value is not None else NONE
    reader.frames[-1].returned.append(value)
    return Flow.RETURN


@statement(ast.Raise)
def raises(reader: Reader, node: ast.Raise, scope: Scope) -> Flow:
    if node.exc is not None:
        reader.evaluate(node.exc, scope)
    return Flow.RAISE


@statement(ast.Break)
def breaks(reader: Reader, node: ast.Break, scope: Scope) -> Flow:
    return Flow.BREAK


@statement(ast.Continue)
def continues(reader: Reader, node: ast.Continue, scope: Scope) -> Flow:
    return Flow.CONTINUE


@statement(ast.Assert)
def asserts(reader: Reader, node: ast.Assert, scope: Scope) -> Flow:
    reader.evaluate(node.test, scope)
    return Flow.NEXT


@statement(ast.Delete)
def deletes(reader: Reader, node: ast.Delete, scope: Scope) -> Flow:
    return Flow.NEXT


@statement(ast.Import)
def import_modules(reader: Reader, node: ast.Import, scope: Scope) -> Flow:
    imports.import_modules(reader, node, scope)
    return Flow.NEXT


@statement(ast.ImportFrom)
def import_names(reader: Reader, node: ast.ImportFrom, scope: Scope) -> Flow:
    imports.import_names(reader, node, scope)
    return Flow.NEXT


@statement(ast.Global, ast.Nonlocal)
def elsewhere(reader: Reader, node: "ast.Global | ast.Nonlocal", scope: Scope) -> Flow:
    for name in node.names:
        target: Scope | None = scope.module() if isinstance(node, ast.Global) else scope.parent
        while isinstance(node, ast.Nonlocal) and target is not None and name not in target.names:
            target = target.parent
        if target is not None and target is not scope:
            scope.elsewhere[name] = target
    return Flow.NEXT


@statement(ast.FunctionDef, ast.AsyncFunctionDef)
def defines(reader: Reader, node: "ast.FunctionDef | ast.AsyncFunctionDef", scope: Scope) -> Flow:
    function = Function(node, scope, node.name, reader.place.block)
    expressions.bind_defaults(reader, function, scope)
    reader.functions.append(function)
    value: Value = function
    for decorator in reversed(node.decorator_list):
        made = reader.evaluate(decorator, scope)
        value = apply_decorator(reader, made, value, decorator.lineno)
    reader.journal.write(scope.names, node.name, value)
    return Flow.NEXT


@statement(ast.ClassDef)
def defines_class(reader: Reader, node: ast.ClassDef, scope: Scope) -> Flow:
    bases = tuple(reader.evaluate(base, scope) for base in node.bases)
    body = Scope({}, scope, is_class=True)
    reader.execute(node.body, body)
    made = Class(node.name, body.names, bases, node.lineno, body)
    body.owner = made
    for decorator in node.decorator_list:
        reader.evaluate(decorator, scope)
    if any(_is_dataclass(d) for d in node.decorator_list) and "__init__" not in body.names:
        made.members["__dataclass_fields__"] = Listing(
            "list",
            [Known(s.target.id) for s in node.body if _is_field(s)],  # type: ignore[attr-defined]
        )
    reader.journal.write(scope.names, node.name, made)
    return Flow.NEXT


def _is_dataclass(decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")) == "dataclass"


def _is_field(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)


def enter_instance(reader: Reader, instance: Instance, line: int) -> Value:
    """What `with instance as x` binds."""
    method = instance.of.find("__enter__")
    return call_value(reader, method, [instance], {}, line) if method is not None else instance


def leave_instance(reader: Reader, instance: Instance, line: int) -> None:
    """Read `__exit__`."""
    method = instance.of.find("__exit__")
    if method is not None:
        call_value(reader, method, [instance, NONE, NONE, NONE], {}, line)
