"""Finds names that code reads but never binds, using Python's own symbol table."""

import ast
import builtins
import re
import symtable
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence

# Built-in names of Python 2: code that uses them fails earlier for another reason.
_OLD = ("xrange", "unicode", "raw_input", "basestring", "long", "reduce", "unichr", "file", "execfile", "cmp")
# Names that a notebook's kernel or platform provides.
_KERNEL = ("display", "exit", "quit", "In", "Out", "spark", "sc", "sqlContext", "dbutils")
_KNOWN = frozenset((*dir(builtins), *_OLD, *_KERNEL, "WindowsError"))
# Only IPython's kernel defines this name. Scripts that use it fail, even if exported from a notebook.
IPYTHON = "get_ipython"
_COMMENT = re.compile(r"(?m)^\s*#.*$|\s#[^\"'\n]*$")
# Code that binds names invisibly, or that checks for a name before using it.
_HIDDEN = re.compile(
    r"\bexec\s*\(|\bexecfile\s*\(|\b(?:globals|locals|vars)\(\)\s*[.\[]|\bin\s+(?:globals|locals|vars|dir)\s*\("
    r"|import\s+\*|\bbuiltins?(?:__)?\.|\bsetattr\s*\("
)
# Text in exercises and templates that leaves code to the reader. `_NEAR`: maximum number of lines from such a
# text to a use below it.
_LEFT_OUT = re.compile(
    r"#.*\b(?:to ?do|your (?:code|own|model)|fill (?:in|this)|replace (?:this|with)|exercise)\b", re.I
)
_NEAR, _LONGEST = 16, 400
_CATCHES = ("NameError", "UnboundLocalError", "Exception", "BaseException")


def undefined(code: str) -> list[tuple[int, str]]:
    """Return (line, name) for each use of a name that the code never binds."""
    if _HIDDEN.search(_COMMENT.sub("", code)):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            top = symtable.symtable(code, "document", "exec")
            free = set(_free(top, _bound(top)))
            tree = ast.parse(code) if free else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if tree is None:
        return []
    found: set[tuple[int, str]] = set()
    lines = code.split("\n")
    bodies = [
        range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for line, name in sorted(_read(tree)):
        if any(_LEFT_OUT.search(text[:_LONGEST]) for text in lines[max(0, line - _NEAR) : line + 1]):
            continue
        # Scopes may share a name, so they are identified by their first line; 0 means the module.
        inside = any(line in body for body in bodies)
        if any(name == free_ and (line >= first if first else not inside) for first, free_ in free):
            found.add((line, name))
    return sorted(found)


def _bound(top: symtable.SymbolTable) -> set[str]:
    """Return every name that the module binds, including names that functions bind with `global`."""
    names = {s.get_name() for s in top.get_symbols() if _binds(s)}
    waiting = list(top.get_children())
    while waiting:
        table = waiting.pop()
        names |= {s.get_name() for s in table.get_symbols() if s.is_declared_global() and s.is_assigned()}
        waiting += table.get_children()
    return names


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace() or symbol.is_annotated()


def _free(table: symtable.SymbolTable, bound: set[str]) -> Iterator[tuple[int, str]]:
    """Yield (first line of the scope, name) for each undefined name that this scope or an inner scope
    reads.
    """
    first = 0 if table.get_type() == "module" else table.get_lineno()
    for symbol in table.get_symbols():
        name = symbol.get_name()
        if name in bound or name in _KNOWN or name.startswith("_") or not symbol.is_referenced():
            continue
        if symbol.is_global() or (first == 0 and not _binds(symbol)):
            yield first, name
    for below in table.get_children():
        yield from _free(below, bound)


def _read(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, name) for each name that the code reads, except in annotations and in code that expects
    the name to be missing.
    """
    waiting: list[ast.AST] = [tree]
    off = _switched_off(tree)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.lineno, node.id
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns") or (
                field == "body" and (_expects(node) or _is_dead(node, off))
            ):
                continue
            waiting += _nodes(value)


def _is_dead(node: ast.AST, off: set[str]) -> bool:
    """Return True if the node is an `if` whose condition is False, 0, or a name in `off`."""
    if not isinstance(node, ast.If):
        return False
    if isinstance(node.test, ast.Name):
        return node.test.id in off
    return isinstance(node.test, ast.Constant) and not node.test.value


def _switched_off(tree: ast.Module) -> set[str]:
    """Return the names that the code binds exactly once, to a false constant."""
    stores = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and not node.value.value
        for target in node.targets
        if isinstance(target, ast.Name) and stores[target.id] == 1
    }


def _nodes(value: object) -> Sequence[ast.AST]:
    if isinstance(value, list):
        return [part for part in value if isinstance(part, ast.AST)]
    return [value] if isinstance(value, ast.AST) else []


def _expects(node: ast.AST) -> bool:
    """Return True if the node is a `try` that catches the error for a missing name."""
    if not isinstance(node, ast.Try):
        return False
    types = [handler.type for handler in node.handlers]
    return any(kind is None or any(word in ast.unparse(kind) for word in _CATCHES) for kind in types)
