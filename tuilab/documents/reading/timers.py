"""Clocks and timers: `time`, `timeit`, `datetime`."""

import ast
from collections.abc import Callable
from typing import TypeVar

from tuilab.documents.parse import parse
from tuilab.documents.reading.library import Arguments, handles
from tuilab.documents.reading.names import CLOCKS
from tuilab.documents.reading.reader import Reader
from tuilab.documents.reading.trace import Loop
from tuilab.documents.reading.values import (
    NONE,
    Bound,
    Function,
    Graph,
    Known,
    Many,
    Partial,
    Special,
    Unknown,
    Value,
    integer,
)

T = TypeVar("T")
DEFAULT_NUMBER = 1_000_000
DEFAULT_REPEAT = 5


@handles(*CLOCKS)
def clock(reader: Reader, name: str, args: Arguments) -> Value:
    if reader.in_graph() and name != "tf.timestamp":
        reader.event("effect", f"{name}()", args.line)
    return reader.clock(name, args.line)


@handles("time.sleep")
def sleep(reader: Reader, name: str, args: Arguments) -> Value:
    kind = "effect" if reader.in_graph() else "sleep"
    reader.event(kind, "time.sleep()", args.line, args.values)  # type: ignore[arg-type]
    return NONE


@handles("time.", "datetime.")
def other(reader: Reader, name: str, args: Arguments) -> Value:
    return Unknown(f"what {name} gives", args.line)


def repeated(reader: Reader, line: int, count: int | None, read: Callable[[], T]) -> T:
    """Read something as the body of a loop that a timer runs."""
    loop = Loop(line, line, count, len(reader.trace.events))
    reader.trace.loops.append(loop)
    with reader.at(loops=(*reader.place.loops, loop)):
        result = read()
    loop.last = len(reader.trace.events) - 1
    return result


@handles("timeit.timeit", "timeit.repeat")
def timeit(reader: Reader, name: str, args: Arguments) -> Value:
    if name == "timeit.repeat":
        return _repeat(reader, args.get("stmt"), args.get("setup"), args)
    return _once(reader, args.get("stmt"), args.get("setup"), args.get("number"), args.line, repeats=False)


@handles("timeit.Timer")
def timer(reader: Reader, name: str, args: Arguments) -> Value:
    return Special("timer", (args.get("stmt"), args.get("setup")))


def timer_method(reader: Reader, timer_: Special, name: str, args: Arguments) -> Value:
    """`Timer.timeit`, `.repeat`, `.autorange`."""
    stmt, setup = timer_.data
    if name == "repeat":
        args.values.setdefault("number", args.get("1"))
        args.values.setdefault("repeat", args.get("0"))
        return _repeat(reader, stmt, setup, args)
    if name in ("timeit", "autorange"):
        number = args.get("number", "0") if name == "timeit" else Unknown("it is chosen by itself", args.line)
        return _once(reader, stmt, setup, number, args.line, repeats=name == "autorange")
    return NONE


def _repeat(reader: Reader, stmt: Value, setup: Value, args: Arguments) -> Value:
    result = _once(reader, stmt, setup, args.get("number"), args.line, repeats=True)
    given = args.get("repeat")
    return Many(result, DEFAULT_REPEAT if given == NONE else integer(given))


def _once(reader: Reader, stmt: Value, setup: Value, number: Value, line: int, *, repeats: bool) -> Value:
    _run(reader, setup, line)
    start = reader.clock("timeit.default_timer", line)
    count = DEFAULT_NUMBER if number == NONE else integer(number)
    repeated(reader, line, count, lambda: _run(reader, stmt, line))
    end = reader.clock("timeit.default_timer", line)
    return reader.region(start.event, end.event, via="timeit", repeats=repeats)


def _run(reader: Reader, stmt: Value, line: int) -> None:
    """Read what a timer runs: a callable, or code in a text (as names of the module see it)."""
    from tuilab.documents.reading.calls import call_value

    match stmt:
        case Function() | Graph() | Bound() | Partial():
            call_value(reader, stmt, [], {}, line)
        case Known(value=str(code)):
            parsed = parse(code.split("\n"), 1)
            for statement in parsed.statements:
                _place(statement, line)
            reader.execute(parsed.statements, reader.module)
        case Known():
            pass
        case _:
            reader.event("opaque", "a statement that is not known", line)


def _place(statement: object, line: int) -> None:
    """Code in a text has the line of the text."""
    assert isinstance(statement, ast.AST)
    for part in ast.walk(statement):
        if isinstance(part, ast.stmt | ast.expr):
            part.lineno = part.end_lineno = line
