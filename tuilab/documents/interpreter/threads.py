"""Evaluates threads and pools. A function is interpreted at the call that submits it to a pool or starts its
thread.
"""

from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.items import iterate
from tuilab.documents.interpreter.library import Arguments, handles
from tuilab.documents.interpreter.objects import Asked, methods_of
from tuilab.documents.interpreter.trace import Loop
from tuilab.documents.interpreter.values import NONE, Listing, Many, Mapping, OpaqueObject, Unknown, Value


@handles(
    "concurrent.futures.ThreadPoolExecutor",
    "concurrent.futures.thread.ThreadPoolExecutor",
    "multiprocessing.pool.ThreadPool",
    "multiprocessing.dummy.Pool",
)
def pool(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("pool", name)


@handles("threading.Thread")
def thread(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return OpaqueObject("thread", (args.get("target", "1"), args.get("args", "3"), args.get("kwargs", "4")))


@handles("concurrent.futures.as_completed", "concurrent.futures.wait")
def completed(interpreter: Interpreter, name: str, args: Arguments) -> Value:
    return args.get("fs", "0")


@methods_of("pool")
def pool_method(interpreter: Interpreter, asked: Asked) -> Value | None:
    if not asked.args or asked.name not in (*_ONE, *_EACH):
        return None
    function, given = asked.args[0], asked.args[1:]
    if asked.name == "submit":
        return OpaqueObject("future", interpreter.call(function, given, asked.keywords, asked.line))
    if asked.name in _ONE:
        result = interpreter.call(function, _items(given[0]) if given else [], {}, asked.line)
        return result if asked.name == "apply" else OpaqueObject("future", result)
    each = [iterate(interpreter, value, asked.line) for value in given]
    count = next((found.count for found in each if found.count is not None), None)
    with interpreter.inside(Loop(asked.line, asked.line, count)):
        elements = [found.element for found in each]
        if asked.name.startswith("starmap") and elements:
            elements = _items(elements[0])
        result = interpreter.call(function, elements, {}, asked.line)
    made = Many(result, count)
    return OpaqueObject("future", made) if asked.name.endswith("_async") else made


_ONE = ("submit", "apply", "apply_async")
_EACH = ("map", "imap", "imap_unordered", "map_async", "starmap", "starmap_async")


@methods_of("thread")
def thread_method(interpreter: Interpreter, asked: Asked) -> Value | None:
    target, args, keywords = asked.owner.data
    if asked.name == "start" and target != NONE:
        named = {str(k): v for k, v in keywords.items.items()} if isinstance(keywords, Mapping) else {}
        interpreter.call(target, _items(args), named, asked.line)
    return NONE


@methods_of("future")
def future_method(interpreter: Interpreter, asked: Asked) -> Value | None:
    value: Value = asked.owner.data
    return value if asked.name in ("result", "get") else NONE


def _items(given: Value) -> list[Value]:
    if isinstance(given, Listing):
        return list(given.items)
    return [] if given == NONE else [Unknown("an argument of a thread", 0)]
