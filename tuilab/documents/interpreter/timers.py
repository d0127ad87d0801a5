"""Evaluates calls of clocks and timers: `time`, `timeit`, `datetime`."""

import ast
from collections.abc import Callable
from typing import TypeVar

from tuilab.documents.interpreter.interpreter import Interpreter, Keywords, times_in
from tuilab.documents.interpreter.library import Arguments, handles, record
from tuilab.documents.interpreter.names import CLOCKS
from tuilab.documents.interpreter.trace import Kind, Loop
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    Elapsed,
    Function,
    Graph,
    Instance,
    Known,
    Listing,
    Many,
    Mapping,
    OpaqueObject,
    Partial,
    Unknown,
    Value,
    integer,
)
from tuilab.documents.reading.parse import parse

T = TypeVar("T")
DEFAULT_NUMBER = 1_000_000
DEFAULT_REPEAT = 5


@handles(*CLOCKS)
def clock(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if interpreter.in_graph() and name != "tf.timestamp":
        interpreter.event("effect", f"{name}()", args.line)
    return interpreter.clock(name, args.line)


@handles("time.sleep")
def sleep(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    _paces(interpreter, args)
    kind: Kind = "effect" if interpreter.in_graph() else "sleep"
    interpreter.event(kind, "time.sleep()", args.line, args.values)
    return NONE


@handles("cv2.waitKey", "cv2.waitKeyEx")
def key(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    _paces(interpreter, args)
    return record(interpreter, "opaque", name, args)


def _paces(interpreter: Interpreter, args: Arguments) -> None:
    for value in args.values.values():
        for number in times_in(value):
            interpreter.trace.regions[number].paces = True


@handles("time.gmtime", "time.strftime", "datetime.timedelta", "datetime.datetime.utcfromtimestamp")
def format_time(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    """Evaluate a function that converts or formats a time. The result still counts as a measured time."""
    elapsed = next((v for v in args.values.values() if isinstance(v, Elapsed)), None)
    return elapsed if elapsed is not None else other(interpreter, name, args)


@handles("time.", "datetime.")
def other(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return Unknown(f"the result of {name}", args.line)


def repeated(interpreter: Interpreter, line: int, count: int | None, read: Callable[[], T]) -> T:
    with interpreter.inside(Loop(line, line, count)):
        return read()


@handles("timeit.timeit", "timeit.repeat")
def timeit(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    if name == "timeit.repeat":
        return _repeat(interpreter, args.get("stmt"), args.get("setup"), args)
    return _once(
        interpreter, args.get("stmt"), args.get("setup"), args.get("number"), args.line, repeats=False
    )


@handles("timeit.Timer")
def timer(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("timer", (args.get("stmt"), args.get("setup")))


def timer_method(interpreter: Interpreter, timer_: OpaqueObject, name: str, args: Arguments) -> Value:
    """Evaluate `Timer.timeit`, `.repeat` or `.autorange`."""
    stmt, setup = timer_.data
    if name == "repeat":
        args.values.setdefault("number", args.get("1"))
        args.values.setdefault("repeat", args.get("0"))
        return _repeat(interpreter, stmt, setup, args)
    if name in ("timeit", "autorange"):
        number = args.get("number", "0") if name == "timeit" else Unknown("timeit chooses it", args.line)
        return _once(interpreter, stmt, setup, number, args.line, repeats=name == "autorange")
    return NONE


def _repeat(interpreter: Interpreter, stmt: Value, setup: Value, args: Arguments) -> Value:
    result = _once(interpreter, stmt, setup, args.get("number"), args.line, repeats=True)
    given = args.get("repeat")
    return Many(result, DEFAULT_REPEAT if given == NONE else integer(given))


def _once(
    interpreter: Interpreter, stmt: Value, setup: Value, number: Value, line: int, *, repeats: bool
) -> Value:
    _run(interpreter, setup, line)
    start = interpreter.clock("timeit.default_timer", line)
    count = DEFAULT_NUMBER if number == NONE else integer(number)
    repeated(interpreter, line, count, lambda: _run(interpreter, stmt, line))
    end = interpreter.clock("timeit.default_timer", line)
    return interpreter.region(start.event, end.event, via="timeit", repeats=repeats)


def pytest_benchmark(
    interpreter: Interpreter, name: str, args: list[Value], keywords: Keywords, line: int
) -> Value:
    """Evaluate a call of pytest's `benchmark` fixture. `pedantic` takes the function's arguments as a
    tuple.
    """
    target = args[0] if args else keywords.get("target", NONE)
    if name == "pedantic":
        spread = keywords.get("args", args[1] if len(args) > 1 else Listing("tuple", []))
        named = keywords.get("kwargs", Mapping({}))
        given = list(spread.items) if isinstance(spread, Listing) else []
        by_name = {str(k): v for k, v in named.items.items()} if isinstance(named, Mapping) else {}
    else:
        given, by_name = args[1:], keywords
    once = name == "pedantic" and all(
        integer(keywords.get(word, Known(usual))) == usual for word, usual in _PEDANTIC.items()
    )
    start = interpreter.clock("timeit.default_timer", line)
    count = 1 if once else None
    result = repeated(interpreter, line, count, lambda: interpreter.call(target, given, by_name, line))
    end = interpreter.clock("timeit.default_timer", line)
    interpreter.region(start.event, end.event, via="timeit", repeats=not once)
    return result


# Defaults of `pedantic`: one call, without a warm-up.
_PEDANTIC = {"rounds": 1, "iterations": 1, "warmup_rounds": 0}


def _run(interpreter: Interpreter, stmt: Value, line: int) -> None:
    """Interpret the code that a timer runs: a callable, or a string that uses names of the module."""
    match stmt:
        case Function() | Graph() | Bound() | Partial() | Instance() | Api():
            interpreter.call(stmt, [], {}, line)
        case Known(value=str(code)):
            parsed = parse(code.split("\n"), 1)
            for statement in parsed.statements:
                _place(statement, line)
            interpreter.execute(parsed.statements, interpreter.module)
            names_only(interpreter, parsed.statements, line)
        case Known():
            pass
        case _:
            interpreter.event("opaque", "an unknown statement", line)


def names_only(interpreter: Interpreter, statements: list[ast.stmt], line: int) -> None:
    """Record an event for each timed statement that only looks up a name and calls nothing, as in `%timeit f`
    or `timeit("f")`.
    """
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name | ast.Attribute):
            interpreter.event("bind", ast.unparse(statement.value)[:60], line)


def _place(statement: object, line: int) -> None:
    """Give all nodes in `statement` the line number of the string that contains the code."""
    assert isinstance(statement, ast.AST)
    for part in ast.walk(statement):
        if isinstance(part, ast.stmt | ast.expr):
            part.lineno = part.end_lineno = line
