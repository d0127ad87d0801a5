"""Interprets loops and `with` blocks."""

import ast

from tuilab.documents.interpreter import contexts
from tuilab.documents.interpreter.interpreter import Flow, Interpreter, statement
from tuilab.documents.interpreter.items import (
    MOST_UNROLLED,
    MOST_UNROLLED_TOGETHER,
    Iteration,
    bind_target,
    iterate,
)
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.timers import names_only
from tuilab.documents.interpreter.trace import Loop
from tuilab.documents.interpreter.values import (
    VARIES,
    Known,
    Number,
    OpaqueObject,
    Span,
    Tensor,
    Value,
    is_number,
    truth,
)


@statement(ast.For, ast.AsyncFor)
def for_loop(interpreter: Interpreter, node: "ast.For | ast.AsyncFor", scope: Scope) -> Flow:
    value = interpreter.evaluate(node.iter, scope)
    if isinstance(value, Tensor):
        interpreter.reads(value, "iteration", node.lineno)
    found = iterate(interpreter, value, node.lineno)
    if _unrolls(interpreter, node, found, isinstance(value, Span)):
        flow = _unrolled(interpreter, node, found, scope)
    else:
        flow = _once(interpreter, node, found, scope)
    if flow is Flow.NEXT and node.orelse:
        return interpreter.execute(node.orelse, scope)
    return flow


def _unrolls(interpreter: Interpreter, node: "ast.For | ast.AsyncFor", found: Iteration, span: bool) -> bool:
    """Return True if each iteration must be interpreted separately: the items are few and known, and the body
    uses them.
    """
    items = found.items
    if items is None or not 1 <= len(items) <= MOST_UNROLLED:
        return False
    if interpreter.unrolled * len(items) > MOST_UNROLLED_TOGETHER:
        return False
    return not span or interpreter.once(node, _uses)


def _uses(node: "ast.For | ast.AsyncFor") -> bool:
    """Return True if the loop's body uses the loop variable for more than printing."""
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


def _unrolled(
    interpreter: Interpreter, node: "ast.For | ast.AsyncFor", found: Iteration, scope: Scope
) -> Flow:
    items = found.items or []
    interpreter.unrolled *= len(items)
    try:
        for item in items:
            loop = _loop(interpreter, node, 1, found)
            loop.unrolled = True
            flow = _body(interpreter, node, loop, item, scope)
            if flow in (Flow.RETURN, Flow.RAISE):
                return flow
            if flow is Flow.BREAK:
                break
    finally:
        interpreter.unrolled //= max(1, len(items))
    return Flow.NEXT


def _once(interpreter: Interpreter, node: "ast.For | ast.AsyncFor", found: Iteration, scope: Scope) -> Flow:
    """Interpret the body once for all iterations. If the loop may run zero times, merge the result with the
    state before the loop.
    """
    loop = _loop(interpreter, node, found.count, found)
    if found.dataset is not None:
        interpreter.event("iterate", "tf.data.Dataset", node.lineno, {"dataset": found.dataset})
    if found.count == 0:
        return Flow.NEXT
    if found.count != 1:
        _forget_counters(interpreter, node, scope)
    flow = _body(interpreter, node, loop, found.element, scope)
    if found.count != 1 and flow is Flow.NEXT:
        _begin_again(interpreter, node, scope)
    if interpreter.once(node, _leaves_early):
        loop.count = None if found.count is None or found.count > 1 else found.count
    return flow if flow in (Flow.RETURN, Flow.RAISE) and found.count else Flow.NEXT


def _begin_again(interpreter: Interpreter, node: "ast.For | ast.AsyncFor | ast.While", scope: Scope) -> None:
    """Interpret the first statements of the body again, because a timing may start in one iteration and end
    in the next. Stops after the last statement that ends such a timing.
    """
    until = interpreter.once(node, _takes_before_it_reads)
    if not until or interpreter.again >= _MOST_AGAIN:
        return
    loop = _loop(interpreter, node, 1, None)
    loop.unrolled = True
    interpreter.again += 1
    try:
        with interpreter.inside(loop):
            interpreter.execute(node.body[:until], scope)
    finally:
        interpreter.again -= 1


# Maximum nesting of loops whose first statements are interpreted twice.
_MOST_AGAIN = 2


def _takes_before_it_reads(node: "ast.For | ast.AsyncFor | ast.While") -> int:
    """Return the number (from 1) of the last statement in the body that ends a timing from the previous
    iteration; 0 if there is none.
    """
    taken: dict[str, tuple[int, int, int]] = {}
    read: dict[str, tuple[int, int]] = {}
    for number, each in enumerate(node.body, 1):
        for part in ast.walk(each):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
                name = ast.unparse(part.right) if isinstance(part.right, ast.Name | ast.Attribute) else ""
                at = part.lineno, part.col_offset
                if name and (name not in taken or at < taken[name][:2]):
                    taken[name] = (*at, number)
            elif isinstance(part, ast.Assign) and isinstance(part.value, ast.Call | ast.Name):
                at = part.lineno, part.col_offset
                for target in part.targets:
                    if isinstance(target, ast.Name | ast.Attribute):
                        name = ast.unparse(target)
                        read[name] = min(at, read.get(name, at))
    return max((taken[n][2] for n in taken if n in read and taken[n][:2] < read[n]), default=0)


def _forget_counters(
    interpreter: Interpreter, node: "ast.For | ast.AsyncFor | ast.While", scope: Scope
) -> None:
    """Replace loop counters with unknown values, because the body is interpreted once for all iterations."""
    for name in interpreter.once(node, _decided_by):
        known = scope.find(name)
        if isinstance(known, Known) and is_number(known):
            bind_target(interpreter, ast.Name(name, ast.Store()), Number(VARIES, node.lineno), scope)


def _decided_by(node: "ast.For | ast.AsyncFor | ast.While") -> tuple[str, ...]:
    stepped, asked = set[str](), set[str]()
    for part in (part for each in node.body for part in ast.walk(each)):
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            stepped.add(part.target.id)
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name):
            name = part.targets[0].id
            if any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(part.value)):
                stepped.add(name)
        elif isinstance(part, ast.If | ast.While | ast.IfExp):
            asked |= {inner.id for inner in ast.walk(part.test) if isinstance(inner, ast.Name)}
    return tuple(sorted(stepped & asked))


def _leaves_early(node: "ast.For | ast.AsyncFor") -> bool:
    return any(isinstance(part, ast.Break | ast.Return) for s in node.body for part in ast.walk(s))


def _loop(
    interpreter: Interpreter,
    node: "ast.For | ast.AsyncFor | ast.While",
    count: int | None,
    found: Iteration | None,
) -> Loop:
    made = interpreter.loop(node, count, found.dataset if found is not None else None)
    made.empty = interpreter.once(node, _is_empty)
    if isinstance(node, ast.For):
        made.ends = _ends(node)
    return made


_ENDS: dict[type[ast.cmpop], int] = {ast.Gt: 1, ast.GtE: 0, ast.Eq: 0}


def _ends(node: ast.For) -> int | None:
    """Return the number of iterations before a line such as `if i > 10: break` ends the loop; None if the
    body does not start with such a line.
    """
    first = node.body[0]
    counter = node.target.elts[0] if isinstance(node.target, ast.Tuple) and node.target.elts else None
    if not isinstance(first, ast.If) or not isinstance(first.test, ast.Compare) or len(first.test.ops) != 1:
        return None
    left, right = first.test.left, first.test.comparators[0]
    more = _ENDS.get(type(first.test.ops[0]))
    counts = isinstance(counter, ast.Name) and isinstance(left, ast.Name) and left.id == counter.id
    enumerates = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "enumerate"
    if more is None or not counts or not enumerates or not isinstance(first.body[0], ast.Break):
        return None
    known = right.value if isinstance(right, ast.Constant) else None
    return known + more if isinstance(known, int) else None


def _is_empty(node: "ast.For | ast.AsyncFor | ast.While") -> bool:
    return all(_does_nothing(s) for s in node.body)


def _does_nothing(statement_: ast.stmt) -> bool:
    if isinstance(statement_, ast.Pass | ast.Break | ast.Continue):
        return True
    if isinstance(statement_, ast.Expr):
        return isinstance(statement_.value, ast.Constant)
    if isinstance(statement_, ast.If):
        return all(_does_nothing(s) for s in statement_.body + statement_.orelse)
    return False


def _body(
    interpreter: Interpreter, node: "ast.For | ast.AsyncFor", loop: Loop, item: Value, scope: Scope
) -> Flow:
    with interpreter.inside(loop):
        bind_target(interpreter, node.target, item, scope)
        return interpreter.execute(node.body, scope)


@statement(ast.While)
def while_loop(interpreter: Interpreter, node: ast.While, scope: Scope) -> Flow:
    test = interpreter.condition(node.test, scope)
    interpreter.reads(test, "while", node.lineno)
    if truth(test) is False:
        return interpreter.execute(node.orelse, scope)
    _forget_counters(interpreter, node, scope)
    with interpreter.inside(_loop(interpreter, node, None, None)):
        flow = interpreter.execute(node.body, scope)
    if flow is Flow.NEXT:
        _begin_again(interpreter, node, scope)
    endless = isinstance(node.test, ast.Constant) and node.test.value is True
    return flow if flow in (Flow.RETURN, Flow.RAISE) and endless else Flow.NEXT


@statement(ast.With, ast.AsyncWith)
def with_block(interpreter: Interpreter, node: "ast.With | ast.AsyncWith", scope: Scope) -> Flow:
    return _with(interpreter, node.items, node.body, scope)


def _with(interpreter: Interpreter, items: list[ast.withitem], body: list[ast.stmt], scope: Scope) -> Flow:
    if not items:
        return interpreter.execute(body, scope)
    item, rest = items[0], items[1:]
    manager = interpreter.evaluate(item.context_expr, scope)

    def inside(value: Value) -> Flow:
        if item.optional_vars is not None:
            bind_target(interpreter, item.optional_vars, value, scope)
        flow = _with(interpreter, rest, body, scope)
        if isinstance(manager, OpaqueObject) and manager.kind == "magic":
            names_only(interpreter, body, item.context_expr.lineno)
        return flow

    line = item.context_expr.lineno
    return contexts.run(interpreter, manager, inside, line, max(line, body[-1].end_lineno or line))
