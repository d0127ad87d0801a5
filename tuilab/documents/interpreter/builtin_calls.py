"""Evaluates calls of Python's built-in functions."""

import ast
from collections.abc import Sequence
from typing import Any

from tuilab.documents.interpreter import arithmetic, attributes
from tuilab.documents.interpreter.expressions import join_text
from tuilab.documents.interpreter.interpreter import Interpreter, times_in
from tuilab.documents.interpreter.items import iterate
from tuilab.documents.interpreter.library import Arguments, handles
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.trace import Kind
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    Clock,
    Elapsed,
    Function,
    Known,
    Listing,
    Many,
    Mapping,
    Number,
    OpaqueObject,
    Span,
    Unknown,
    Value,
    integer,
    truth,
)
from tuilab.documents.words import words

WITH_SCOPE = ("globals", "locals", "vars")
# Pure functions that are fast on bounded constants.
_PURE: dict[str, Any] = {"abs": abs, "round": round, "bool": bool, "str": str, "min": min, "max": max}
# Built-in functions that take long enough to be timed in a benchmark.
_TAKES_TIME = words("sum sorted list dict set map filter min max any all pow open")
_WAITS = words("float int bool str repr format sum max min list tuple abs round")


def with_scope(interpreter: Interpreter, node: ast.Call, scope: Scope) -> Value:
    """Evaluate a function such as `globals()`, whose result depends on the caller's scope."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    store = scope.module().names if name == "globals" else scope.names
    return Mapping(dict(store), open=True)


@handles("builtins.")
def builtin(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    word = name.removeprefix("builtins.")
    values = [args.values[str(n)] for n in range(len(args.values)) if str(n) in args.values]
    if word in _WAITS:
        _wait(interpreter, word, values, args.line)
    if word in _TAKES_TIME:
        interpreter.event("python", word, args.line)
    handler = _HANDLERS.get(word)
    if handler is not None:
        made: Value = handler(interpreter, values, args)
        return made
    if word in _PURE and _are_known(values, args):
        return _pure(word, values, args.line)
    if word in ("exec", "eval", "compile", "__import__", "input"):
        interpreter.note(args.line, f"{word}() is not evaluated")
        interpreter.event("opaque", word, args.line)
    elif word in ("open",) and interpreter.in_graph():
        interpreter.event("effect", "open()", args.line)
    return Unknown(f"the result of {word}()", args.line)


@handles(
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.notebook.tqdm",
    "tqdm.tqdm_notebook",
    "tqdm.std.tqdm",
    "tqdm.rich.tqdm",
)
def progress(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a progress bar, which yields the items of its argument unchanged."""
    return args.get("iterable", "0", default=Unknown("the result of a progress bar", args.line))


@handles("tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.tnrange")
def counted(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return _range(interpreter, [args.values[str(n)] for n in range(3) if str(n) in args.values], args)


def _wait(interpreter: Interpreter, word: str, values: Sequence[Value], line: int) -> None:
    for value in values:
        interpreter.reads(value, f"{word}()", line)


def _are_known(values: Sequence[Value], args: Arguments) -> bool:
    return bool(values) and all(isinstance(v, Known) for v in values) and len(args.values) < 4


def _pure(word: str, values: Sequence[Value], line: int) -> Value:
    try:
        return Known(arithmetic.bounded(_PURE[word](*[v.value for v in values if isinstance(v, Known)])))
    except (TypeError, ValueError, ArithmeticError, arithmetic.NotComputed):
        return Unknown(f"the result of {word}()", line)


def _print(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    for value in values:
        interpreter.reads(value, "print()", args.line)
    interpreter.record_printed(values, args.line)
    words = " ".join(str(v.value) if isinstance(v, Known) else "{}" for v in values)
    kind: Kind = "effect" if interpreter.in_graph() else "print"
    interpreter.event(kind, "print()", args.line, {"text": Known(words[:400])})
    return NONE


def _len(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    value = values[0] if values else NONE
    if isinstance(value, Known) and isinstance(value.value, str | bytes):
        return Known(len(value.value))
    if isinstance(value, Unknown):
        # len() does not iterate, so do not record an iteration over the unknown value.
        return Number("an unknown length", args.line)
    count = iterate(interpreter, value, args.line).count
    return Known(count) if count is not None else Unknown("an unknown length", args.line)


def _range(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    numbers = [integer(v) for v in values]
    match numbers:
        case [stop]:
            return Span(0, stop, 1)
        case [start, stop]:
            return Span(start, stop, 1)
        case [start, stop, step]:
            return Span(start, stop, step)
        case _:
            return Span(None, None, None)


def _number(word: str) -> Any:
    def convert(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
        value = values[0] if values else Known(0)
        if isinstance(value, Elapsed | Clock):
            return value
        if isinstance(value, Known) and isinstance(value.value, int | float | str) and len(values) == 1:
            if isinstance(value.value, str) and len(value.value) > 60:
                return Unknown("an unknown number", args.line)
            try:
                made = int(value.value) if word == "int" else float(value.value)
                return Known(arithmetic.bounded(made))
            except (ValueError, OverflowError, arithmetic.NotComputed):
                pass
        return Number("an unknown number", args.line)

    return convert


def _listing(kind: Any) -> Any:
    def make(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
        if not values:
            return Listing(kind, [], born=interpreter.in_graph())
        if isinstance(values[0], Many):
            return values[0]
        found = iterate(interpreter, values[0], args.line)
        if found.dataset is not None:
            interpreter.event("iterate", "tf.data.Dataset", args.line, {"dataset": found.dataset})
        if found.items is not None:
            return Listing(kind, list(found.items))
        return Many(found.element, found.count)

    return make


def _dict(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    made = Mapping({}, open=args.open)
    if values and isinstance(values[0], Mapping):
        made.items |= values[0].items
    elif values:
        made.open = True
    made.items |= {k: v for k, v in args.values.items() if not k.isdigit()}
    return made


def _sum(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    found = iterate(interpreter, values[0], args.line) if values else None
    items = found.items if found is not None else None
    if items is not None and all(isinstance(i, Known) for i in items) and len(values) == 1:
        try:
            return Known(arithmetic.bounded(sum(i.value for i in items if isinstance(i, Known))))
        except (TypeError, arithmetic.NotComputed):
            pass
    if found is not None and isinstance(found.element, Elapsed):
        return found.element
    return Unknown("an unknown sum", args.line)


def _extreme(word: str) -> Any:
    def pick(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
        if len(values) == 1 and isinstance(values[0], Listing) and not values[0].open:
            values = values[0].items
        if values and all(isinstance(v, Known) for v in values):
            return _pure(word, values, args.line)
        times = [v for v in values if isinstance(v, Elapsed)]
        if len(values) == 1 and isinstance(values[0], Many) and isinstance(values[0].element, Elapsed):
            times = [values[0].element]
        return times[0] if times else Unknown(f"the result of {word}()", args.line)

    return pick


def _next(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    value = values[0] if values else NONE
    found = iterate(interpreter, value, args.line)
    if found.dataset is not None:
        interpreter.event(
            "iterate", "tf.data.Dataset", args.line, {"dataset": found.dataset, "once": Known(True)}
        )
    return found.items[0] if found.items else found.element


def _getattr(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    name = values[1] if len(values) > 1 else NONE
    if isinstance(name, Known) and isinstance(name.value, str) and name.value.isidentifier():
        return attributes.attribute(interpreter, values[0], name.value, args.line)
    return Unknown("an attribute with an unknown name", args.line)


def _isinstance(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    if len(values) == 2 and isinstance(values[1], Api) and isinstance(values[0], Known):
        kinds = {"builtins.str": str, "builtins.int": int, "builtins.float": float, "builtins.bool": bool}
        if values[1].name in kinds:
            return Known(isinstance(values[0].value, kinds[values[1].name]))
    return Unknown("an unknown condition", args.line)


def _callable(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    known = truth(values[0]) if values and isinstance(values[0], Function | Bound) else None
    return Known(True) if known else Unknown("an unknown condition", args.line)


def _round(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    """Evaluate `round()`. The rounded value of a measured time still counts as a measured time."""
    is_time = bool(values) and isinstance(values[0], Elapsed | Clock)
    return values[0] if is_time else _pure("round", values, args.line)


def _text(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    """Evaluate a conversion to text. The text of a measured time still counts as a measured time."""
    interpreter.dates(*values[:1])
    if values and times_in(values[0]):
        return join_text("", values[:1], args.line)
    return _pure("str", values, args.line) if _are_known(values, args) else Unknown("a text", args.line)


def _divmod(interpreter: Interpreter, values: list[Value], args: Arguments) -> Value:
    if values and isinstance(values[0], Elapsed):
        return Listing("tuple", [values[0], values[0]])
    return Unknown("the result of divmod()", args.line)


_HANDLERS: dict[str, Any] = {
    "str": _text,
    "repr": _text,
    "format": _text,
    "divmod": _divmod,
    "round": _round,
    "print": _print,
    "super": lambda interpreter, values, args: OpaqueObject("super"),
    "len": _len,
    "range": _range,
    "int": _number("int"),
    "float": _number("float"),
    "list": _listing("list"),
    "tuple": _listing("tuple"),
    "set": _listing("set"),
    "sorted": _listing("list"),
    "reversed": _listing("list"),
    "dict": _dict,
    "sum": _sum,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "next": _next,
    "iter": lambda interpreter, values, args: OpaqueObject("iterator", values[0]) if values else NONE,
    "enumerate": lambda interpreter, values, args: OpaqueObject("enumerate", values[:1]) if values else NONE,
    "zip": lambda interpreter, values, args: OpaqueObject("zip", values),
    "getattr": _getattr,
    "isinstance": _isinstance,
    "callable": _callable,
}
