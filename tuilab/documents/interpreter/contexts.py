"""Interprets `with manager:` and the manager's effect on the body."""

from collections.abc import Callable
from typing import Literal

from tuilab.documents.interpreter.calls import call_function
from tuilab.documents.interpreter.interpreter import Flow, Interpreter
from tuilab.documents.interpreter.timers import repeated
from tuilab.documents.interpreter.trace import DeviceScope
from tuilab.documents.interpreter.unread import is_timer
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Bound,
    Instance,
    OpaqueObject,
    Scoped,
    Unknown,
    Value,
)
from tuilab.documents.reading.dialect import TIME, TIMEIT, TIMEIT_ONCE

Body = Callable[[Value], Flow]


def run(interpreter: Interpreter, manager: Value, body: Body, line: int, last_line: int) -> Flow:
    """Interpret the body of a `with` statement, including the effect of the context manager on the body."""
    match manager:
        case Scoped():
            return device_scope(interpreter, manager.families, line, body)
        case Instance() if manager.of.find("__enter__") is not None:
            return _instance(interpreter, manager, body, line, last_line)
        case OpaqueObject(kind="generated"):
            return _run_generator(interpreter, manager, body, line, last_line)
        case OpaqueObject(kind="magic"):
            return timed(interpreter, manager.data, line, body)
        case OpaqueObject(kind="session"):
            interpreter.deferred = True
            around, interpreter.session = interpreter.session, manager
            flow = body(manager)
            interpreter.session = around
            return flow
        case OpaqueObject(kind="raises"):
            interpreter.guards += 1
            flow = body(NONE)
            interpreter.guards -= 1
            return flow
        case Bound(name="as_default" | "scope" | "__enter__") | Api():
            return body(manager)
        case Unknown() if is_timer(manager.reason):
            start = interpreter.clock("a timer", line)
            interpreter.timed_from(start.event, line, last_line)
            flow = body(Unknown("a timer", line))
            end = interpreter.clock("a timer", last_line)
            interpreter.region(start.event, end.event)
            return flow
        case Unknown():
            interpreter.event("opaque", "a context manager", line)
            flow = body(Unknown(manager.reason, manager.line))
            interpreter.event("opaque", "a context manager", line)
            return flow
        case _:
            return body(manager)


def device_scope(interpreter: Interpreter, families: tuple[str, ...], line: int, body: Body) -> Flow:
    scope = DeviceScope(interpreter.document_line(line), families, len(interpreter.trace.events))
    interpreter.trace.scopes.append(scope)
    with interpreter.at(devices=(*interpreter.place.devices, scope)):
        flow = body(NONE)
    scope.last = len(interpreter.trace.events) - 1
    return flow


def timed(interpreter: Interpreter, word: str, line: int, body: Body) -> Flow:
    start = interpreter.clock("timeit.default_timer", line)
    if word == TIMEIT:
        flow = repeated(interpreter, line, None, lambda: body(NONE))
    elif word == TIMEIT_ONCE:
        flow = repeated(interpreter, line, 1, lambda: body(NONE))
    else:
        flow = body(NONE)
    end = interpreter.clock("timeit.default_timer", line)
    via: Literal["magic", "timeit"] = "timeit" if word == TIMEIT_ONCE else "magic"
    interpreter.region(start.event, end.event, via=via, repeats=word == TIMEIT)
    return flow


MAGICS: dict[str, Value] = {word: OpaqueObject("magic", word) for word in (TIMEIT, TIMEIT_ONCE, TIME)}


def _instance(interpreter: Interpreter, instance: Instance, body: Body, line: int, last_line: int) -> Flow:
    first = len(interpreter.trace.events)
    enter, leave = instance.of.find("__enter__"), instance.of.find("__exit__")
    entered = interpreter.call(enter, [instance], {}, line) if enter is not None else instance
    interpreter.timed_from(first, line, last_line)
    flow = body(entered)
    if leave is not None:
        interpreter.call(leave, [instance, NONE, NONE, NONE], {}, line)
    return flow


def _run_generator(
    interpreter: Interpreter, manager: OpaqueObject, body: Body, line: int, last_line: int
) -> Flow:
    """Interpret the function of a `@contextmanager` up to its `yield`, then the body, then the rest of
    the function.
    """
    function, args, keywords = manager.data
    flows: list[Flow] = []
    first, file, away = len(interpreter.trace.events), interpreter.place.file, interpreter.away

    def hook(value: Value) -> None:
        if not flows:
            flows.append(Flow.NEXT)
            # The body belongs to the caller, so a return in it returns from the caller.
            frame = interpreter.frames.pop()
            try:
                with interpreter.reading(file, away):
                    interpreter.timed_from(first, line, last_line)
                    flows[0] = body(value)
            finally:
                interpreter.frames.append(frame)

    call_function(interpreter, function, args, keywords, line, hook=hook)
    if not flows:
        return body(Unknown("the result of a context manager", line))
    return flows[0]
