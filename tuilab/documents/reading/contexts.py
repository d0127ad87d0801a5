"""What `with manager:` does around its body."""

from collections.abc import Callable

from tuilab.documents.dialect import TIME, TIMEIT
from tuilab.documents.reading.reader import Flow, Reader
from tuilab.documents.reading.trace import DeviceScope
from tuilab.documents.reading.values import NONE, Api, Bound, Instance, Scoped, Special, Unknown, Value

Body = Callable[[Value], Flow]


def run(reader: Reader, manager: Value, body: Body, line: int) -> Flow:
    """Read the body as it runs inside the manager."""
    match manager:
        case Scoped():
            return device_scope(reader, manager.families, line, body)
        case Instance() if manager.of.find("__enter__") is not None:
            return _instance(reader, manager, body, line)
        case Special(kind="generated"):
            return _generated(reader, manager, body, line)
        case Special(kind="magic"):
            return timed(reader, manager.data, line, body)
        case Special(kind="raises"):
            reader.guards += 1
            flow = body(NONE)
            reader.guards -= 1
            return flow
        case Bound(name="as_default" | "scope" | "__enter__") | Api():
            return body(manager)
        case Unknown():
            reader.event("opaque", "a context manager", line)
            flow = body(Unknown(manager.reason, manager.line))
            reader.event("opaque", "a context manager", line)
            return flow
        case _:
            return body(manager)


def device_scope(reader: Reader, families: tuple[str, ...], line: int, body: Body) -> Flow:
    """`with tf.device(…)`."""
    scope = DeviceScope(line, families, len(reader.trace.events), block=reader.place.block)
    reader.trace.scopes.append(scope)
    with reader.at(devices=(*reader.place.devices, scope)):
        flow = body(NONE)
    scope.last = len(reader.trace.events) - 1
    return flow


def timed(reader: Reader, word: str, line: int, body: Body) -> Flow:
    """IPython's `%timeit` (which repeats) and `%time` (which does not)."""
    from tuilab.documents.reading.timers import repeated

    start = reader.clock("timeit.default_timer", line)
    if word == TIMEIT:
        flow = repeated(reader, line, None, lambda: body(NONE))
    else:
        flow = body(NONE)
    end = reader.clock("timeit.default_timer", line)
    reader.region(start.event, end.event, via="magic", repeats=word == TIMEIT)
    return flow


MAGICS = {TIMEIT: Special("magic", TIMEIT), TIME: Special("magic", TIME)}


def _instance(reader: Reader, instance: Instance, body: Body, line: int) -> Flow:
    from tuilab.documents.reading.statements import enter_instance, leave_instance

    flow = body(enter_instance(reader, instance, line))
    leave_instance(reader, instance, line)
    return flow


def _generated(reader: Reader, manager: Special, body: Body, line: int) -> Flow:
    """`@contextmanager`: the function is read up to its `yield`, then the body, then the rest."""
    from tuilab.documents.reading.calls import call_function

    function, args, keywords = manager.data
    flows: list[Flow] = []

    def hook(value: Value) -> None:
        if not flows:
            flows.append(Flow.NEXT)
            # The body belongs to the caller: what it returns is the caller's to return.
            frame = reader.frames.pop()
            try:
                flows[0] = body(value)
            finally:
                reader.frames.append(frame)

    call_function(reader, function, args, keywords, line, hook=hook)
    if not flows:
        return body(Unknown("what a context manager gives", line))
    return flows[0]
