"""Evaluates each kind of expression."""

import ast
from collections.abc import Sequence
from typing import Any, Literal

from tuilab.documents.interpreter import arithmetic, attributes, tensors
from tuilab.documents.interpreter.arithmetic import NotComputed
from tuilab.documents.interpreter.interpreter import Interpreter, expression, times_in
from tuilab.documents.interpreter.names import BUILTINS, OLD_RATE
from tuilab.documents.interpreter.scope import Scope, either
from tuilab.documents.interpreter.unread import assumes_keras, is_model
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Clock,
    Elapsed,
    Function,
    Known,
    Listing,
    Many,
    Mapping,
    Model,
    Number,
    Tensor,
    Told,
    Unknown,
    Value,
    is_number,
    truth,
)


@expression(ast.Constant)
def constant(interpreter: Interpreter, node: ast.Constant, scope: Scope) -> Value:
    try:
        return Known(arithmetic.bounded(node.value))
    except NotComputed:
        return Unknown("a constant too large for a benchmark", node.lineno)


@expression(ast.Name)
def name(interpreter: Interpreter, node: ast.Name, scope: Scope) -> Value:
    found = scope.find(node.id)
    if found is not None:
        return found
    if node.id in BUILTINS:
        return Api(f"builtins.{node.id}")
    if interpreter.excerpt and is_model(node.id) and assumes_keras(interpreter.imported):
        # An article may use a model without showing its creation.
        program = len(interpreter.trace.programs)
        made = Model([], node.lineno, open=True, assumed=True)
        return interpreter.left_out.setdefault((node.id, program), made)
    return Unknown(f"{node.id} is not defined in the document", node.lineno)


@expression(ast.Attribute)
def attribute(interpreter: Interpreter, node: ast.Attribute, scope: Scope) -> Value:
    """Resolve a chain `a.b.c` as a single use of a library's name."""
    chain: list[ast.Attribute] = [node]
    inner: ast.expr = node.value
    while isinstance(inner, ast.Attribute):
        chain.append(inner)
        inner = inner.value
    value = interpreter.evaluate(inner, scope)
    written: Api | None = None
    for link in reversed(chain):
        value = attributes.attribute(interpreter, value, link.attr, link.lineno)
        written = value if isinstance(value, Api) else written
    of_optimizer = [link.attr for link in chain[:2]] == ["lr", "optimizer"]
    told = isinstance(value, Unknown) and value.reason == OLD_RATE
    if of_optimizer and not told and assumes_keras(interpreter.imported):
        # The attribute `lr` of a model's optimizer is always that of a Keras optimizer.
        interpreter.use(Api(OLD_RATE, "optimizer.lr"), node.lineno)
    if written is not None:
        interpreter.use(written, node.lineno)
    return value


@expression(ast.BinOp)
def binary(interpreter: Interpreter, node: ast.BinOp, scope: Scope) -> Value:
    left, right = interpreter.evaluate(node.left, scope), interpreter.evaluate(node.right, scope)
    if isinstance(node.op, ast.Mod) and _is_print(node.left):
        interpreter.misfit(
            "type",
            node.lineno,
            "print() returns None, and None % … raises a TypeError",
            "Put the % … inside print's parentheses.",
            at="%",
        )
    if isinstance(node.op, ast.Div) and isinstance(left, Elapsed) and not isinstance(right, Elapsed):
        interpreter.trace.regions[left.region].by.append(ast.unparse(node.right)[:_LONGEST_DIVISOR])
    return operate(interpreter, node.op, left, right, node.lineno)


# Maximum number of characters in the divisor of a measured time.
_LONGEST_DIVISOR = 60


def _is_print(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def operate(interpreter: Interpreter, op: ast.operator, left: Value, right: Value, line: int) -> Value:
    """Return the value of `left op right`.

    If an operand is a tensor, this is an op of TensorFlow or NumPy.
    """
    if isinstance(op, ast.Mod) and isinstance(left, Known) and isinstance(left.value, str):
        interpreter.reads(right, "formatting", line)
        return join_text(left.value, [right], line)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return tensors.operator(interpreter, op, left, right, line)
    timed = _on_times(interpreter, op, left, right, line)
    if timed is not None:
        return timed
    if interpreter.place.loops or isinstance(left, Unknown) or isinstance(right, Unknown):
        interpreter.event("python", type(op).__name__, line)
    ends = right.value if isinstance(op, ast.Add) and isinstance(right, Known) else None
    if isinstance(ends, str) and isinstance(left, Unknown) and not isinstance(left, Number):
        words = left.words if isinstance(left, Told) else "{}"
        return Told(left.reason, left.line, (), words, tuple(times_in(left)))
    return _on_constants(op, left, right, line) or _unresolved_result(left, right, line)


def _on_times(
    interpreter: Interpreter, op: ast.operator, left: Value, right: Value, line: int
) -> Value | None:
    """Return the measured time that results from an operation on clock readings or measured times; None for
    other operations.

    The difference of two clock readings is a measured time. An operation on a measured time returns this
    time.
    """
    if isinstance(op, ast.Sub | ast.Add) and isinstance(left, Clock) and isinstance(right, Clock):
        # The sum of two readings is a time if the first is negated: `took = -time(); …; took += time()`.
        return interpreter.region(right.event, left.event)
    if isinstance(op, ast.Sub) and isinstance(right, Clock) and _is_sum(left):
        return right
    if isinstance(op, ast.Sub) and isinstance(left, Clock) and isinstance(right, Unknown):
        # The first reading depends on a condition, so create a separate timing for each alternative.
        times = [interpreter.region(o.event, left.event) for o in right.options if isinstance(o, Clock)]
        if times and len(times) == len(right.options):
            return Unknown(right.reason, line, tuple(times))
    interpreter.dates(left, right)
    if isinstance(op, ast.Mult | ast.Div | ast.FloorDiv) and isinstance(left, Clock):
        # A clock reading that is converted to another unit still counts as a clock reading.
        interpreter.rescaled.add(left.event)
        return left
    divides = isinstance(op, ast.Div | ast.FloorDiv)
    if (
        isinstance(op, ast.Add)
        and (_is_text(left) or _is_text(right))
        and (times_in(left) or times_in(right))
    ):
        return join_text("", [left, right], line)
    if isinstance(left, Elapsed):
        if isinstance(right, Elapsed):
            if divides or isinstance(op, ast.Sub):
                interpreter.compare([left.region, right.region])
        elif divides:
            interpreter.trace.regions[left.region].divided = True
        _scale(interpreter, op, left, right)
        return left
    if isinstance(right, Elapsed):
        _scale(interpreter, op, right, left)
        interpreter.trace.regions[right.region].rate |= divides
        return right
    return None


def _is_sum(value: Value) -> bool:
    """Return True if the value may be part of a sum of times: a time, an unknown number, or the initial 0."""
    return isinstance(value, Elapsed | Number) or (isinstance(value, Known) and value.value in (0, 0.0))


def _scale(interpreter: Interpreter, op: ast.operator, time: Elapsed, by: Value) -> None:
    known = by.value if isinstance(by, Known) and isinstance(by.value, int | float) else None
    if isinstance(op, ast.Mult) or (isinstance(op, ast.Div) and (known is None or abs(known) < 1)):
        interpreter.trace.regions[time.region].scaled = True


def _is_text(value: Value) -> bool:
    return isinstance(value, Told) or (isinstance(value, Known) and isinstance(value.value, str))


def _on_constants(op: ast.operator, left: Value, right: Value, line: int) -> Value | None:
    """Return the result for operands that are constants or lists; None for any other operand."""
    match left, right:
        case Known(), Known():
            try:
                return Known(arithmetic.binary(op, left.value, right.value))
            except NotComputed:
                return Unknown("an operation whose result the checker does not compute", line)
        case Listing(), Listing() if isinstance(op, ast.Add):
            return _append(left, right)
        case (Listing() as one, Known(value=int(count))) | (Known(value=int(count)), Listing() as one) if (
            isinstance(op, ast.Mult)
        ):
            return _repeat(one, count)
    return None


def _unresolved_result(left: Value, right: Value, line: int) -> Value:
    """Return an unknown number if both operands are numbers; else an unknown value with the reason of the
    unknown operand.
    """
    if is_number(left) and is_number(right):
        return Number("an unknown number", line)
    for value in (left, right):
        if isinstance(value, Unknown):
            return Unknown(value.reason, value.line)
    return Unknown("an operation whose result the checker does not compute", line)


def _append(left: Listing, right: Listing) -> Listing:
    items = left.items + right.items
    cut = len(items) > arithmetic.LONGEST_LIST
    return Listing(left.kind, items[: arithmetic.LONGEST_LIST], left.open or right.open or cut)


def _repeat(listing: Listing, count: int) -> Value:
    if len(listing.items) == 1 and count > 16:
        return Many(listing.items[0], count)
    if 0 <= count * len(listing.items) <= arithmetic.LONGEST_LIST:
        return Listing(listing.kind, listing.items * count, listing.open)
    return Listing(listing.kind, list(listing.items), open=True)


@expression(ast.UnaryOp)
def unary(interpreter: Interpreter, node: ast.UnaryOp, scope: Scope) -> Value:
    value = interpreter.evaluate(node.operand, scope)
    if isinstance(value, Tensor):
        return tensors.elementwise(interpreter, "tf.negative", [value], node.lineno)
    if isinstance(value, Clock | Elapsed):
        return value
    if isinstance(value, Known):
        try:
            return Known(arithmetic.unary(node.op, value.value))
        except NotComputed:
            return Unknown("an operation whose result the checker does not compute", node.lineno)
    known = truth(value)
    if isinstance(node.op, ast.Not) and known is not None:
        return Known(not known)
    return value if isinstance(value, Unknown) else Unknown("an unknown condition", node.lineno)


@expression(ast.BoolOp)
def boolean(interpreter: Interpreter, node: ast.BoolOp, scope: Scope) -> Value:
    """Evaluate `a or b` or `a and b`. Returns the operand that decides the result, or all possible
    results.
    """
    stops_at = isinstance(node.op, ast.Or)
    joined: Value | None = None
    value: Value = NONE
    for operand in node.values:
        value = interpreter.evaluate(operand, scope)
        known = truth(value)
        if known is stops_at:
            break
        if known is None:
            joined = either(joined, value, node.lineno)
    return either(joined, value, node.lineno) or value


@expression(ast.Compare)
def compare(interpreter: Interpreter, node: ast.Compare, scope: Scope) -> Value:
    left = interpreter.evaluate(node.left, scope)
    result: Value = Known(True)
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = interpreter.evaluate(comparator, scope)
        result = _evaluate_comparison(interpreter, op, left, right, node.lineno)
        if truth(result) is not True:
            return result
        left = right
    return result


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.NotEq: "tf.not_equal",
    ast.Lt: "tf.less",
    ast.LtE: "tf.less_equal",
    ast.Gt: "tf.greater",
    ast.GtE: "tf.greater_equal",
}


def _evaluate_comparison(
    interpreter: Interpreter, op: ast.cmpop, left: Value, right: Value, line: int
) -> Value:
    interpreter.dates(left, right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return tensors.elementwise(
            interpreter, _COMPARISONS.get(type(op), "tf.equal"), [left, right], line, dtype="bool"
        )
    if isinstance(op, ast.Is | ast.IsNot) and (left is NONE or right is NONE or NONE in (left, right)):
        other = right if left == NONE else left
        if isinstance(other, Unknown):
            return Unknown(other.reason, other.line)
        return Known((other == NONE) is isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn) and isinstance(left, Known) and _all_known(right):
        assert isinstance(right, Listing)
        return Known((left in right.items) is isinstance(op, ast.In))
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            return Known(arithmetic.compare(op, left.value, right.value))
        except NotComputed:
            pass
    kind = Number if is_number(left) and is_number(right) else Unknown
    return kind("an unknown condition", line)


def _all_known(value: Value) -> bool:
    return isinstance(value, Listing) and not value.open and all(isinstance(i, Known) for i in value.items)


@expression(ast.IfExp)
def conditional(interpreter: Interpreter, node: ast.IfExp, scope: Scope) -> Value:
    known = truth(interpreter.evaluate(node.test, scope))
    if known is not None:
        return interpreter.evaluate(node.body if known else node.orelse, scope)
    one, other = interpreter.evaluate(node.body, scope), interpreter.evaluate(node.orelse, scope)
    return either(one, other, node.lineno) or one


_KINDS: dict[type[ast.expr], Literal["list", "tuple", "set"]] = {
    ast.Tuple: "tuple",
    ast.List: "list",
    ast.Set: "set",
}


@expression(ast.Tuple, ast.List, ast.Set)
def listing(interpreter: Interpreter, node: "ast.Tuple | ast.List | ast.Set", scope: Scope) -> Value:
    out = Listing(_KINDS[type(node)], [], born=interpreter.in_graph())
    for item in node.elts:
        if len(out.items) >= arithmetic.LONGEST_LIST:
            out.open = True
            break
        value = interpreter.evaluate(item.value if isinstance(item, ast.Starred) else item, scope)
        if not isinstance(item, ast.Starred):
            out.items.append(value)
        elif isinstance(value, Listing) and len(value.items) + len(out.items) <= arithmetic.LONGEST_LIST:
            out.items += value.items
            out.open = out.open or value.open
        else:
            out.open = True
    return out


@expression(ast.Dict)
def mapping(interpreter: Interpreter, node: ast.Dict, scope: Scope) -> Value:
    out = Mapping({})
    for key, item in zip(node.keys, node.values, strict=True):
        value = interpreter.evaluate(item, scope)
        if key is None:
            if isinstance(value, Mapping):
                out.items |= value.items
                out.open = out.open or value.open
            else:
                out.open = True
            continue
        known = interpreter.evaluate(key, scope)
        if isinstance(known, Known) and len(out.items) < arithmetic.LONGEST_LIST:
            out.items[known.value] = value
        elif isinstance(known, Tensor):
            # This is a feed_dict: the values for a session's placeholders.
            out.items[known] = value
        else:
            out.open = True
    return out


@expression(ast.JoinedStr)
def formatted(interpreter: Interpreter, node: ast.JoinedStr, scope: Scope) -> Value:
    """Evaluate an f-string, without applying its format specifications."""
    words: list[str] = []
    values: list[Value] = []
    known = True
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = interpreter.evaluate(part.value, scope)
            interpreter.dates(value)
            values.append(value)
            interpreter.reads(value, "formatting", node.lineno)
            known = known and isinstance(value, Known)
            words.append(str(value.value)[:200] if isinstance(value, Known) else "{}")
        elif isinstance(part, ast.Constant):
            words.append(str(part.value))
    text = "".join(words)
    if known and len(text) <= arithmetic.LONGEST_TEXT:
        return Known(text)
    return join_text(text, values, node.lineno)


def join_text(words: str, values: Sequence[Value], line: int) -> Told:
    """Return the joined text, with the measured times that its parts contain."""
    times = tuple(dict.fromkeys(time for value in values for time in times_in(value)))
    own = " ".join(str(v.value)[:200] for v in values if isinstance(v, Known) and isinstance(v.value, str))
    inner = " ".join(v.words for v in values if isinstance(v, Told))
    return Told("a partly unknown string", line, (), f"{words} {own} {inner}"[:400], times)


@expression(ast.Slice)
def slices(interpreter: Interpreter, node: ast.Slice, scope: Scope) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            interpreter.evaluate(part, scope)
    return Unknown("a slice", node.lineno)


@expression(ast.NamedExpr)
def named_expression(interpreter: Interpreter, node: ast.NamedExpr, scope: Scope) -> Value:
    value = interpreter.evaluate(node.value, scope)
    interpreter.journal.write(scope.names, node.target.id, value)
    return value


@expression(ast.Lambda)
def function(interpreter: Interpreter, node: ast.Lambda, scope: Scope) -> Value:
    made = Function(node, scope, "lambda", interpreter.place.block, file=interpreter.place.file)
    bind_defaults(interpreter, made, scope)
    if not made.file:
        interpreter.lambdas.setdefault(node, made)
    return made


def bind_defaults(interpreter: Interpreter, function: Function, scope: Scope) -> None:
    arguments: Any = function.node.args
    plain = arguments.posonlyargs + arguments.args
    for parameter, default in zip(
        plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True
    ):
        function.defaults[parameter.arg] = interpreter.evaluate(default, scope)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            function.defaults[parameter.arg] = interpreter.evaluate(default, scope)


@expression(ast.Yield, ast.YieldFrom)
def yields(interpreter: Interpreter, node: "ast.Yield | ast.YieldFrom", scope: Scope) -> Value:
    value = interpreter.evaluate(node.value, scope) if node.value is not None else NONE
    hook = interpreter.frames[-1].hook
    if hook is not None and isinstance(node, ast.Yield):
        hook(value)
    else:
        interpreter.event("opaque", "the code that consumes a generator", node.lineno)
        interpreter.frames[-1].returned.append(value)
    return Unknown("the result of a yield", node.lineno)


@expression(ast.Starred, ast.Await)
def as_it_is(interpreter: Interpreter, node: "ast.Starred | ast.Await", scope: Scope) -> Value:
    return interpreter.evaluate(node.value, scope)
