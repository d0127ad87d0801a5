"""Finds places in the user's source that the observer does not report. Does not run the source."""

import ast
from collections.abc import Container, Iterator, Mapping
from functools import cache
from pathlib import PurePath

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def place(file: str, line: int) -> str:
    """Return a location such as `train.py:12`; "" if the file is unknown."""
    return f"{PurePath(file).name}:{line}" if file and line else ""


@cache
def tree_of(text: str) -> ast.Module:
    """Return the syntax tree of a source; an empty one if Python cannot parse the source."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def name_of(call: ast.Call) -> str:
    """Return the called function's or method's own name; "" if it has none."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def names_in(*nodes: ast.AST) -> set[str]:
    return {name.id for node in nodes for name in ast.walk(node) if isinstance(name, ast.Name)}


def _nodes(sources: Mapping[str, str]) -> Iterator[tuple[str, ast.AST]]:
    for file, text in sources.items():
        for node in ast.walk(tree_of(text)):
            yield file, node


def call(sources: Mapping[str, str], *names: str) -> tuple[str, int]:
    """Return file and line of the first call of one of these functions; ("", 0) if there is none."""
    for file, node in _nodes(sources):
        if isinstance(node, ast.Call) and name_of(node) in names:
            return file, node.lineno
    return "", 0


def argument(sources: Mapping[str, str], name: str) -> tuple[str, int]:
    """Return file and line of the first place that sets a named argument or attribute to a value other than
    False.

    Returns ("", 0) if there is none.
    """
    for file, node in _nodes(sources):
        if isinstance(node, ast.Call):
            given = [(keyword.arg, keyword.value) for keyword in node.keywords]
        elif isinstance(node, ast.Assign):
            given = [(one.attr, node.value) for one in node.targets if isinstance(one, ast.Attribute)]
        else:
            continue
        for known, value in given:
            if known == name and not (isinstance(value, ast.Constant) and not value.value):
                return file, value.lineno
    return "", 0


def text(sources: Mapping[str, str], value: str) -> tuple[str, int]:
    """Return file and line of the first string with this value; ("", 0) if there is none."""
    for file, node in _nodes(sources):
        if isinstance(node, ast.Constant) and node.value == value:
            return file, node.lineno
    return "", 0


def definition(sources: Mapping[str, str], file: str, number: int) -> int:
    """Return the `def` line of the function whose decorators begin at line `number`; `number` if unknown."""
    for node in ast.walk(tree_of(sources.get(file, ""))):
        if (
            isinstance(node, ast.FunctionDef)
            and node.decorator_list
            and node.decorator_list[0].lineno == number
        ):
            return node.lineno
    return number


def loop(sources: Mapping[str, str], file: str, number: int) -> int:
    """Return the line of the innermost loop around a line; 0 if there is none."""
    loops = _loops(sources.get(file, ""))
    return max((at for at, first, last in loops if first <= number <= last), default=0)


@cache
def _loops(text: str) -> list[tuple[int, int, int]]:
    """Return each loop's own line, and the first and last line of its body.

    Cached, because a page needs the loops for hundreds of lines.
    """
    return [
        (node.lineno, node.lineno + isinstance(node, ast.For | ast.While), node.end_lineno or 0)
        for node in ast.walk(tree_of(text))
        if isinstance(node, (ast.For, ast.While, *_COMPREHENSIONS))
    ]


def line(sources: Mapping[str, str], file: str, number: int) -> str:
    lines = sources.get(file, "").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def method(sources: Mapping[str, str], name: str) -> tuple[str, int]:
    """Return file and line of the first method of that name; ("", 0) if there is none."""
    for file, node in _nodes(sources):
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and inner.name == name:
                return file, inner.lineno
    return "", 0


def loop_names(sources: Mapping[str, str], file: str, number: int) -> set[str]:
    """Return the names that the loops around a line assign."""
    loops = (node for node in ast.walk(tree_of(sources.get(file, ""))) if isinstance(node, ast.For))
    return names_in(*(loop.target for loop in loops if loop.lineno < number <= (loop.end_lineno or 0)))


def names_of_call(sources: Mapping[str, str], file: str, number: int) -> set[str]:
    statements = (
        node
        for node in ast.walk(tree_of(sources.get(file, "")))
        if isinstance(node, ast.Assign | ast.Expr | ast.Return | ast.AugAssign)
    )
    return names_in(*(each for each in statements if each.lineno <= number <= (each.end_lineno or 0)))


def calls_in_loop(
    sources: Mapping[str, str], file: str, number: int, names: Container[str]
) -> dict[str, tuple[str, int]]:
    """Return the first call of each name in the loop that begins at a line.

    Also searches the user's own functions that the loop calls by name.
    """
    bodies: list[tuple[str, ast.AST]] = [
        (file, node)
        for node in ast.walk(tree_of(sources.get(file, "")))
        if isinstance(node, ast.For | ast.While) and node.lineno == number
    ]
    known = {node.name: (where, node) for where, node in _nodes(sources) if isinstance(node, ast.FunctionDef)}
    found: dict[str, tuple[str, int]] = {}
    seen: set[str] = set()
    while bodies:
        where, body = bodies.pop(0)
        for node in ast.walk(body):
            if isinstance(node, ast.Call):
                name = name_of(node)
                if name in names:
                    found.setdefault(name, (where, node.lineno))
                elif name in known and name not in seen:
                    seen.add(name)
                    bodies.append(known[name])
    return found


def function_around(sources: Mapping[str, str], file: str, number: int) -> str:
    return _around(sources, file, number)[1]


def function_of_step(sources: Mapping[str, str], file: str, number: int) -> str:
    """Return the name of the innermost function around a line.

    Returns "" if there is none, or if a loop of that function contains the line, because the function then
    runs several steps.
    """
    begin, name = _around(sources, file, number)
    return name if loop(sources, file, number) < begin else ""


def _around(sources: Mapping[str, str], file: str, number: int) -> tuple[int, str]:
    functions = _functions(sources.get(file, ""))
    around = ((first, name) for first, last, name in functions if first <= number <= last)
    return max(around, default=(0, ""))


@cache
def _functions(text: str) -> list[tuple[int, int, str]]:
    """Return each function's first and last line, and its name."""
    return [
        (node.lineno, node.end_lineno or 0, node.name)
        for node in ast.walk(tree_of(text))
        if isinstance(node, ast.FunctionDef)
    ]


def trains(sources: Mapping[str, str], file: str, number: int) -> bool:
    """Return True if a line is under a gradient tape or calls a model with training=True."""
    return any(first <= number <= last for first, last in _training(sources.get(file, "")))


@cache
def _training(text: str) -> list[tuple[int, int]]:
    found = []
    for node in ast.walk(tree_of(text)):
        if isinstance(node, ast.With):
            does = any("GradientTape" in ast.unparse(item.context_expr) for item in node.items)
        elif isinstance(node, ast.Call):
            does = any(word.arg == "training" and ast.unparse(word.value) == "True" for word in node.keywords)
        else:
            continue
        if does:
            found.append((node.lineno, node.end_lineno or node.lineno))
    return found


def call_with(sources: Mapping[str, str], name: str, keywords: Container[str]) -> tuple[str, int]:
    """Return file and line of the first call of that name; a call with one of these keywords takes
    precedence.

    Returns ("", 0) if there is none.
    """
    calls = [
        (file, node) for file, node in _nodes(sources) if isinstance(node, ast.Call) and name_of(node) == name
    ]
    given = [(f, n) for f, n in calls if any(k.arg in keywords for k in n.keywords if k.arg)]
    return next(((file, node.lineno) for file, node in given or calls), ("", 0))
