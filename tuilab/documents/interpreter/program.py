import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuilab.documents.interpreter import (  # noqa: F401  (each registers what it reads)
    codec_calls,
    dataset_calls,
    expressions,
    imports,
    keras_calls,
    loops,
    ops,
    statements,
    tf_calls,
    threads,
    timers,
)
from tuilab.documents.interpreter.calls import instantiate
from tuilab.documents.interpreter.contexts import MAGICS, timed
from tuilab.documents.interpreter.interpreter import (
    MOST_STEPS,
    STEPS,
    STEPS_PER_NODE,
    Exhausted,
    Flow,
    Interpreter,
)
from tuilab.documents.interpreter.scope import Scope
from tuilab.documents.interpreter.timers import names_only
from tuilab.documents.interpreter.trace import CALLER, Context, Trace
from tuilab.documents.interpreter.values import (
    NONE,
    Api,
    Class,
    Function,
    Graph,
    Known,
    OpaqueObject,
    Unknown,
    Value,
)
from tuilab.documents.reading.dialect import (
    TIME,
    TIMEIT,
    TIMEIT_ONCE,
    WHOLE_TIME,
    WHOLE_TIMEIT,
    WHOLE_TIMEIT_ONCE,
)
from tuilab.model.api import ApiTable

# The usual meaning of these names, for short examples in articles, which omit the imports.
CONVENTIONS: dict[str, Value] = {
    "tf": Api("tf"),
    "np": Api("np"),
    "keras": Api("tf.keras", "keras"),
    "os": Api("os"),
    "time": Api("time"),
    "timeit": Api("timeit"),
}


@dataclass(frozen=True)
class Code:
    """An example's parsed statements.

    cell: the magic that times the whole example. size: approximate number of nodes in the syntax tree. shows:
    the example displays the value of its last statement, as a notebook does. yields: the example may contain
    a generator. deferred: calls build a graph for a session, as in TensorFlow 1; None if the example is not a
    separate program. excerpt: the example is part of an article, which omits obvious code.
    """

    number: int
    statements: Sequence[ast.stmt]
    cell: str
    line: int
    size: int
    shows: bool = False
    yields: bool = True
    deferred: bool | None = None
    excerpt: bool = False


def read_program(
    examples: Sequence[Code], api: ApiTable, deferred: bool = False, folder: Path | None = None
) -> Trace:
    """Interpret the examples as one program, so that later examples see names from earlier ones.

    Uncalled functions are interpreted at the end, with unknown parameters. The number of steps is limited in
    proportion to the size of the code; a note reports if the limit is reached. deferred: calls build a graph
    for a session, as in TensorFlow 1. folder: the document's folder, from which it may import modules.
    """
    size = sum(example.size for example in examples)
    interpreter = Interpreter(api, min(MOST_STEPS, STEPS + STEPS_PER_NODE * size), folder)
    interpreter.yields = any(example.yields for example in examples)
    interpreter.deferred = deferred
    outer = Scope({"__name__": Known("__main__"), **MAGICS, **CONVENTIONS})
    interpreter.module = Scope({}, outer)
    line = 1
    try:
        for example in examples:
            line = example.line
            interpreter.place = Context(block=example.number)
            interpreter.excerpt = example.excerpt
            if example.deferred is not None:
                interpreter.deferred = example.deferred
                interpreter.trace.programs.append(len(interpreter.trace.events))
            _read_example(interpreter, example)
        _read_uncalled(interpreter)
    except Exhausted:
        at = interpreter.trace.events[-1].line if interpreter.trace.events else line
        interpreter.trace.notes.append((at, "the code is too long: the rest was not checked"))
    return interpreter.trace


_WHOLE = {WHOLE_TIME: TIME, WHOLE_TIMEIT: TIMEIT, WHOLE_TIMEIT_ONCE: TIMEIT_ONCE}


def _read_example(interpreter: Interpreter, example: Code) -> None:
    code = list(example.statements)
    interpreter.shown = code[-1] if example.shows and code else None
    word = _WHOLE.get(example.cell)
    if word is not None:

        def body(_: Value) -> Flow:
            flow = interpreter.execute(code, interpreter.module)
            if len(code) == 1:
                names_only(interpreter, code, example.line)
            return flow

        timed(interpreter, word, example.line, body)
    else:
        interpreter.execute(code, interpreter.module)


def _read_uncalled(interpreter: Interpreter) -> None:
    """Interpret each uncalled function as if the example that defines it called it. Functions that other
    functions mention come last, because the other functions may call them.
    """
    index, named, waiting = 0, _mentioned_names(interpreter.functions), list[Function]()
    for function in interpreter.functions:
        # An import inside a function counts for the whole module.
        interpreter.imported |= _imports(function.node)
    while index < len(interpreter.functions) or waiting:
        last = index >= len(interpreter.functions)
        function = waiting.pop(0) if last else interpreter.functions[index]
        index += not last
        if function.called or function.name.startswith("__"):
            continue
        if not last and function.name in named:
            waiting.append(function)
            continue
        interpreter.place = Context(block=function.block, uncalled=True)
        # The document does not show who calls this function, so anything may have run before the call.
        interpreter.event("opaque", CALLER, function.node.lineno)
        parameters = function.node.args.args
        args: list[Value] = []
        if function.scope.is_class and parameters and function.kind not in ("static",):
            args = [_receiver(interpreter, function, function.node.lineno)]
        target = function.scope.names.get(function.name)
        graph = target if isinstance(target, Graph) and target.target is function else None
        timed_ = target if isinstance(target, OpaqueObject) and target.data is function else None
        if function.kind == "context":
            function.kind = "plain"
        known = _unknown_defaults(function)
        if function.name.startswith("test") and any(p.arg == "benchmark" for p in parameters):
            # pytest calls the function, and runs no other code before it.
            interpreter.place = Context(block=function.block)
            known["benchmark"] = OpaqueObject("benchmark")
        interpreter.call(graph or timed_ or function, args, known, function.node.lineno)
    for made in list(interpreter.lambdas.values()):
        if not made.called:
            interpreter.place = Context(block=made.block, uncalled=True)
            interpreter.event("opaque", CALLER, made.node.lineno)
            interpreter.call(made, [], {}, made.node.lineno)


def _imports(node: ast.AST) -> set[str]:
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            found.add(part.module.partition(".")[0])
    return found


def _mentioned_names(functions: Sequence[Function]) -> set[str]:
    """Return the names that the document's functions mention, except each function's own name."""
    found: set[str] = set()
    for function in functions:
        for part in ast.walk(function.node):
            word = (
                part.id
                if isinstance(part, ast.Name)
                else part.attr
                if isinstance(part, ast.Attribute)
                else ""
            )
            if word and word != function.name:
                found.add(word)
    return found


def _unknown_defaults(function: Function) -> dict[str, Value]:
    """Return unknown values for the parameters whose default is None, because a caller would probably pass
    something else.
    """
    line = function.node.lineno
    return {
        name: Unknown(f"{name} is a parameter of {function.name}", line)
        for name, value in function.defaults.items()
        if value == NONE
    }


def _receiver(interpreter: Interpreter, function: Function, line: int) -> Value:
    """Return the `self` of an uncalled method: the first object of its class, or a new object."""
    owner = function.scope.owner
    if not function.scope.instances and isinstance(owner, Class):
        made = owner.find("__init__")
        given = _unknown_defaults(made) if isinstance(made, Function) else {}
        instance = instantiate(interpreter, owner, [], given, line)
        set_up = owner.find("setUp")
        if set_up is not None and set_up is not function:
            interpreter.call(set_up, [instance], {}, line)
    return (
        function.scope.instances[0]
        if function.scope.instances
        else Unknown("an object that the document does not create", line)
    )
