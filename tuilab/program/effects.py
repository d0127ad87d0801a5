"""Finds Python code in a step that a graph would run only once, while TensorFlow traces the step. Reads only
the source.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tuilab.program.source import name_of, names_in, tree_of

MOST_DEPTH = 4
GRAPHS = ("tensorflow", "keras", "tensorflow_probability", "tensorflow_addons", "keras_hub", "keras_nlp")
"""Libraries whose calls become ops of a graph."""
HARMLESS = (
    "math",
    "functools",
    "itertools",
    "typing",
    "collections",
    "operator",
    "numpy",
    "os",
    "contextlib",
)
"""Libraries whose results depend only on their arguments."""
CLOCKS = ("time", "datetime")
CHANGES = frozenset(("append", "extend", "insert", "add", "update", "write", "writelines", "put"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.While)
_Block = ast.FunctionDef | ast.AsyncFunctionDef | ast.For | ast.While


@dataclass(frozen=True)
class Effect:
    """Python code with a side effect that a graph would not repeat.

    first: what to change before turning the code into a graph.
    """

    name: str
    file: str
    line: int
    first: str


def effects(sources: Mapping[str, str], file: str, line: int) -> tuple[Effect, ...]:
    """Return the side effects of the step at a line, without duplicates, in source order.

    The step is the innermost loop or function around the line. Also searches the user's functions that the
    step calls by name.
    """
    around = _around(tree_of(sources.get(file, "")), line, (*_FUNCTIONS, *_LOOPS))
    return _find_effects(sources, [(file, each.body) for each in around[-1:]])


def effects_of(sources: Mapping[str, str], methods: Sequence[str]) -> tuple[Effect, ...]:
    known = _definitions(sources)
    return _find_effects(
        sources, [(file, each.body) for name in methods for file, each in known.get(name, ())]
    )


def _find_effects(
    sources: Mapping[str, str], bodies: Iterable[tuple[str, Sequence[ast.stmt]]]
) -> tuple[Effect, ...]:
    found: dict[str, Effect] = {}
    known = _definitions(sources)
    waiting = [(file, body, 0) for file, body in bodies]
    seen: set[int] = set()
    while waiting:
        where, body, depth = waiting.pop(0)
        names = _origins(tree_of(sources[where]), body)
        own = _assigned(body)
        for call in _calls(body):
            if effect := _effect(call, where, names, own):
                found.setdefault(effect.name, effect)
            for other, definition in known.get(name_of(call), ()) if depth < MOST_DEPTH else ():
                if id(definition) not in seen:
                    seen.add(id(definition))
                    waiting.append((other, definition.body, depth + 1))
    return tuple(found.values())


def _around(tree: ast.Module, line: int, kinds: tuple[type[_Block], ...]) -> list[_Block]:
    """Return the statements of these kinds that contain a line, outermost first."""
    found = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    around = [node for node in found if node.lineno <= line <= (node.end_lineno or 0)]
    return sorted(around, key=lambda node: node.lineno)


def _calls(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls in a body in line order, except calls inside functions that the body defines."""
    inner = {
        id(node) for statement in body if isinstance(statement, _FUNCTIONS) for node in ast.walk(statement)
    }
    calls = [
        node
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and id(node) not in inner
    ]
    yield from sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _definitions(
    sources: Mapping[str, str],
) -> dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]]:
    found: dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]] = {}
    for file, text in sources.items():
        for node in ast.walk(tree_of(text)):
            if isinstance(node, _FUNCTIONS):
                found.setdefault(node.name, []).append((file, node))
    return found


def _origins(tree: ast.Module, body: Sequence[ast.stmt]) -> dict[str, str]:
    """Map each name in a body to the import or call that it comes from: `np` → `numpy`, `env` → `gym.make`.

    A name that a function assigns is not the module's variable of that name. A name with several origins has
    none in the result.
    """
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.asname:
                    found[name.asname] = name.name
                else:
                    found[name.name.partition(".")[0]] = name.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    imported = {name.partition(".")[0] for name in found.values()}
    origins = dict(found)
    for scope in (tree, *_around(tree, body[0].lineno, _FUNCTIONS)):
        for bound, makers in _bindings(scope).items():
            made = {dotted(each, found) if each is not None else "" for each in makers}
            (only,) = made if len(made) == 1 else ("",)
            root, dot, _ = only.partition(".")
            origins.pop(bound, None)
            if dot and root in imported:
                origins[bound] = only
    return origins


def _bindings(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Return the callees whose results each name of a scope gets, without those of inner functions; None for
    any other value, such as a parameter's.
    """
    found: dict[str, list[ast.expr | None]] = {}
    called: dict[int, ast.expr] = {}
    waiting = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called |= {id(target): node.value.func for target in node.targets}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, []).append(called.get(id(node)))
        elif isinstance(node, ast.arg):
            found.setdefault(node.arg, []).append(None)
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)
    return found


def dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """Return the callee's full name: `numpy.random.normal` for `np.random.normal`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((names.get(node.id, node.id), *reversed(parts)))


def _assigned(body: Sequence[ast.stmt]) -> set[str]:
    return {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _effect(call: ast.Call, file: str, names: Mapping[str, str], own: set[str]) -> Effect | None:
    name = dotted(call.func, names)
    root = name.partition(".")[0]
    imported = set(names.values())
    known = any(each.partition(".")[0] == root for each in imported)

    def made(shown: str, first: str) -> Effect:
        return Effect(shown, file, call.lineno, first)

    if name.startswith("numpy.random.") or (name.startswith("random.") and known):
        shown = "np.random" if root == "numpy" else "random"
        return made(shown, f"{shown} would be drawn only once, during tracing: use tf.random")
    if name == "print":
        return made("print", "print would run only once, during tracing: use tf.print")
    if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" and not call.args:
        return made(".numpy()", "tensors in a graph have no .numpy(): return them and read them outside")
    if name in ("open", "input", "next"):
        return made(name, f"{name}() would run only once, during tracing: keep it outside the function")
    if isinstance(call.func, ast.Attribute) and call.func.attr in CHANGES and root and root not in own:
        if not known and "." in name:
            shown = ast.unparse(call.func)
            return made(shown, f"{shown}() would run only once, during tracing: return the value instead")
        return None
    if known and root in CLOCKS:
        return made(name, f"{name}() would run only once, during tracing: keep it outside the function")
    if known and root not in (*GRAPHS, *HARMLESS, "random") and "." in name:
        shown = ast.unparse(call.func)
        return made(
            shown,
            f"{shown}() is not a TensorFlow op, so it would run only once, during tracing: keep it outside",
        )
    return None


ADDING = frozenset(("append", "appendleft", "extend", "insert", "add", "update", "put"))


def fed_back(sources: Mapping[str, str], file: str, line: int) -> bool:
    """Return True if a call in a loop receives results of earlier iterations, as in text generation."""
    around = _around(tree_of(sources.get(file, "")), line, _LOOPS)
    if not around:
        return False
    loop = around[-1]
    assigned: list[tuple[set[str], set[str], bool]] = []
    given: set[str] = set()

    def on_line(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0)

    for node in ast.walk(loop):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            into, read = names_in(*targets), names_in(node.value)
            if isinstance(node, ast.AugAssign):
                read |= into
            assigned.append((into, read, any(map(on_line, ast.walk(node.value)))))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADDING:
            into = {n.id for n in (node.func.value,) if isinstance(n, ast.Name)}
            here = any(on_line(n) for each in node.args for n in ast.walk(each))
            assigned.append((into, into | names_in(*node.args), here))
        if isinstance(node, ast.Call) and on_line(node):
            given |= names_in(*node.args)
    answers = {name for into, _, here in assigned if here for name in into}
    for _ in range(len(assigned)):
        answers |= {name for into, read, _ in assigned if read & answers for name in into}
    return bool(answers & given)
