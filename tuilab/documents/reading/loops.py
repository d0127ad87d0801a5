"""Loops and `with` blocks."""

import ast

from tuilab.documents.reading import contexts
from tuilab.documents.reading.items import (
    MOST_UNROLLED,
    MOST_UNROLLED_TOGETHER,
    Iteration,
    bind_target,
    iterate,
)
from tuilab.documents.reading.reader import Flow, Reader
from tuilab.documents.reading.scope import Scope
from tuilab.documents.reading.statements import statement
from tuilab.documents.reading.trace import Loop
from tuilab.documents.reading.values import Span, Tensor, Value, truth


@statement(ast.For, ast.AsyncFor)
def for_loop(reader: Reader, node: "ast.For | ast.AsyncFor", scope: Scope) -> Flow:
    value = reader.evaluate(node.iter, scope)
    if isinstance(value, Tensor) and not reader.in_graph() and value.library == "tf":
        reader.sync("iteration", node.lineno, value)
    found = iterate(reader, value, node.lineno)
    if _unrolls(reader, node, found, isinstance(value, Span)):
        flow = _unrolled(reader, node, found, scope)
    else:
        flow = _once(reader, node, found, scope)
    if flow is Flow.NEXT and node.orelse:
        return reader.execute(node.orelse, scope)
    return flow


def _unrolls(reader: Reader, node: "ast.For | ast.AsyncFor", found: Iteration, span: bool) -> bool:
    """Whether each iteration is read by itself: a few known items that the body makes use of."""
    items = found.items
    if items is None or not 1 <= len(items) <= MOST_UNROLLED:
        return False
    if reader.unrolled * len(items) > MOST_UNROLLED_TOGETHER:
        return False
    return not span or reader.once(node, _uses)


def _uses(node: "ast.For | ast.AsyncFor") -> bool:
    """Whether a loop's counter takes part in more than printing."""
    if not isinstance(node.target, ast.Name):
        return True
    for statement_ in node.body:
        if _is_print(statement_):
            continue
        for part in ast.walk(statement_):
            if isinstance(part, ast.Name) and part.id == node.target.id and isinstance(part.ctx, ast.Load):
                return True
    return False


def _is_print(statement_: ast.stmt) -> bool:
    call = statement_.value if isinstance(statement_, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "print":
        return False
    return not any(isinstance(part, ast.Call) for argument in call.args for part in ast.walk(argument))


def _unrolled(reader: Reader, node: "ast.For | ast.AsyncFor", found: Iteration, scope: Scope) -> Flow:
    items = found.items or []
    reader.unrolled *= len(items)
    try:
        for number, item in enumerate(items):
            loop = _loop(reader, node, 1, found)
            loop.unrolled = (number, len(items))
            flow = _body(reader, node, loop, item, scope)
            if flow in (Flow.RETURN, Flow.RAISE):
                return flow
            if flow is Flow.BREAK:
                break
    finally:
        reader.unrolled //= max(1, len(items))
    return Flow.NEXT


def _once(reader: Reader, node: "ast.For | ast.AsyncFor", found: Iteration, scope: Scope) -> Flow:
    """Read the body once, for all iterations; a loop that may run no times joins with what was before."""
    loop = _loop(reader, node, found.count, found)
    if found.dataset is not None:
        reader.event("iterate", "tf.data.Dataset", node.lineno, {"dataset": found.dataset})
    if found.count == 0:
        return Flow.NEXT
    flow = _body(reader, node, loop, found.element, scope)
    if reader.once(node, _leaves_early):
        loop.count = None if found.count is None or found.count > 1 else found.count
    return flow if flow in (Flow.RETURN, Flow.RAISE) and found.count else Flow.NEXT


def _leaves_early(node: "ast.For | ast.AsyncFor") -> bool:
    return any(isinstance(part, ast.Break | ast.Return) for s in node.body for part in ast.walk(s))


def _loop(
    reader: Reader, node: "ast.For | ast.AsyncFor | ast.While", count: int | None, found: Iteration | None
) -> Loop:
    empty = reader.once(node, _is_empty)
    over = found.dataset if found is not None else None
    return Loop(node.lineno, node.end_lineno or node.lineno, count, empty=empty, over=over)


def _is_empty(node: "ast.For | ast.AsyncFor | ast.While") -> bool:
    return all(_does_nothing(s) for s in node.body)


def _does_nothing(statement_: ast.stmt) -> bool:
    """`pass`, `…`, `break`, and an `if` on whose branches nothing else happens."""
    if isinstance(statement_, ast.Pass | ast.Break | ast.Continue):
        return True
    if isinstance(statement_, ast.Expr):
        return isinstance(statement_.value, ast.Constant)
    if isinstance(statement_, ast.If):
        return all(_does_nothing(s) for s in statement_.body + statement_.orelse)
    return False


def _body(reader: Reader, node: "ast.For | ast.AsyncFor", loop: Loop, item: Value, scope: Scope) -> Flow:
    loop.first = len(reader.trace.events)
    reader.trace.loops.append(loop)
    with reader.at(loops=(*reader.place.loops, loop)):
        bind_target(reader, node.target, item, scope)
        flow = reader.execute(node.body, scope)
    loop.last = len(reader.trace.events) - 1
    return flow


@statement(ast.While)
def while_loop(reader: Reader, node: ast.While, scope: Scope) -> Flow:
    if truth(reader.condition(node.test, scope)) is False:
        return reader.execute(node.orelse, scope)
    loop = _loop(reader, node, None, None)
    loop.first = len(reader.trace.events)
    reader.trace.loops.append(loop)
    with reader.at(loops=(*reader.place.loops, loop)):
        flow = reader.execute(node.body, scope)
    loop.last = len(reader.trace.events) - 1
    endless = isinstance(node.test, ast.Constant) and node.test.value is True
    return flow if flow in (Flow.RETURN, Flow.RAISE) and endless else Flow.NEXT


@statement(ast.With, ast.AsyncWith)
def with_block(reader: Reader, node: "ast.With | ast.AsyncWith", scope: Scope) -> Flow:
    return _with(reader, node.items, node.body, scope)


def _with(reader: Reader, items: list[ast.withitem], body: list[ast.stmt], scope: Scope) -> Flow:
    if not items:
        return reader.execute(body, scope)
    item, rest = items[0], items[1:]
    manager = reader.evaluate(item.context_expr, scope)

    def inside(value: Value) -> Flow:
        if item.optional_vars is not None:
            bind_target(reader, item.optional_vars, value, scope)
        return _with(reader, rest, body, scope)

    return contexts.run(reader, manager, inside, item.context_expr.lineno)
