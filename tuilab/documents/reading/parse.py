"""Parses code that may not be valid Python. Never compiles or runs it."""

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_NOTES = 20
NOT_PYTHON = "not Python"
# Python shows the source line of a syntax error from the file with this name, so no such file may exist.
NOWHERE = "/dev/null/document"
# Matches a word or symbol. On average, each yields about two nodes in the syntax tree.
_WORD = re.compile(r"\w+|[^\w\s]")
_CONTINUES = re.compile(r"^(?:[\s)\]}#]|$|else\b|elif\b|except\b|finally\b|case\b)")


@dataclass
class Parsed:
    """Statements with the line numbers of the document, and the lines that are not Python, with reasons.

    size: approximate number of nodes in the syntax tree. yields: some statements may contain a generator.
    """

    statements: list[ast.stmt] = field(default_factory=list)
    size: int = 0
    yields: bool = True
    broken: list[tuple[int, str]] = field(default_factory=list)


def parse(lines: Sequence[str], first_line: int) -> Parsed:
    """Parse all lines together. If that fails, parse each statement separately and omit those with syntax
    errors.
    """
    code = "\n".join(lines)
    modern = _tree(code)
    older = None if isinstance(modern, ast.Module) else _convert_python_2(lines)
    if older is not None and not isinstance(modern, ast.Module):
        out = parse(older, first_line)
        out.broken = [(first_line + modern[0], modern[1])]
        return out
    out = Parsed(size=2 * sum(1 for _ in _WORD.finditer(code)), yields="yield" in code)
    if isinstance(modern, ast.Module):
        move(modern, first_line - 1)
        out.statements = modern.body
        return out
    for start, chunk in _chunks(lines):
        part = _tree("\n".join(chunk))
        if not isinstance(part, ast.Module):
            offset, reason = part
            if len(out.broken) < MOST_NOTES:
                out.broken.append((first_line + start + min(offset, len(chunk) - 1), reason))
            mended = _without_line(chunk, offset)
            # A chunk that becomes only `pass` statements contained nothing readable.
            if mended is None or all(isinstance(left, ast.Pass) for left in mended.body):
                continue
            part = mended
        move(part, first_line + start - 1)
        out.statements += part.body
    return out


_CATCHES = re.compile(r"^(\s*except [\w. ()]{1,80}(?:, ?[\w.]{1,40}\))?), ?(\w+)\s*:")
# Maximum length in characters of a line that is converted from Python 2.
_LONGEST = 400


def _convert_python_2(lines: Sequence[str]) -> "list[str] | None":
    """Return the lines with print statements and except clauses converted to Python 3; None if nothing was
    converted, or if the result is still not valid Python.
    """
    out = [_modern(line) if len(line) <= _LONGEST else line for line in lines]
    return out if out != list(lines) and is_whole(out) else None


def _modern(line: str) -> str:
    code = line.lstrip()
    if code.startswith("except "):
        return _CATCHES.sub(r"\1 as \2:", line)
    text = code.removeprefix("print").strip()
    if not code.startswith("print ") or text.startswith(("(", "=")) or not text:
        return line
    words, sign, comment = text.rpartition("#")
    if sign and not {"'", '"'} & set(comment):
        text = words.rstrip()
    return f"{line[: len(line) - len(code)]}print({text.rstrip(',')})"


def is_whole(lines: Sequence[str]) -> bool:
    return isinstance(_tree("\n".join(lines)), ast.Module)


def is_python(lines: Sequence[str]) -> bool:
    """Return True if the lines are valid Python with an import, assignment, definition, call or loop."""
    tree = _tree("\n".join(lines))
    return isinstance(tree, ast.Module) and any(_acts(statement) for statement in tree.body)


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    if isinstance(statement, ast.AnnAssign):
        # `Note: this` would parse as an annotation.
        return statement.value is not None
    return not isinstance(statement, ast.Pass)


def _tree(code: str) -> "ast.Module | tuple[int, str]":
    """Return the syntax tree; for code with a syntax error, the 0-based number of its line and the reason."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code, NOWHERE)
    except SyntaxError as error:
        return max(0, (error.lineno or 1) - 1), f"{NOT_PYTHON}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return 0, f"cannot be parsed as Python: {type(error).__name__}"


def _without_line(chunk: list[str], offset: int) -> "ast.Module | None":
    """Return the chunk's syntax tree with `pass` in place of the line with the error; None if there is
    another error.
    """
    if len(chunk) < 2 or not 0 <= offset < len(chunk):
        return None
    indent = chunk[offset][: len(chunk[offset]) - len(chunk[offset].lstrip())]
    tree = _tree("\n".join([*chunk[:offset], indent + "pass", *chunk[offset + 1 :]]))
    return tree if isinstance(tree, ast.Module) else None


def _chunks(lines: Sequence[str]) -> "list[tuple[int, list[str]]]":
    """Split the lines into top-level statements by indentation. Return each statement with its start line."""
    out: list[tuple[int, list[str]]] = []
    decorated = False
    for number, line in enumerate(lines):
        if out and (decorated or _CONTINUES.match(line)):
            out[-1][1].append(line)
        else:
            out.append((number, [line]))
        decorated = line.startswith("@")
    return out


def move(tree: ast.AST, by: int) -> None:
    """Add `by` to every line number in the tree. Much faster than `ast.increment_lineno`."""
    stack: list[ast.AST] = [tree] if by else []
    while stack:
        values = vars(stack.pop())
        if "lineno" in values:
            values["lineno"] += by
            values["end_lineno"] = (values["end_lineno"] or 0) + by
        for value in values.values():
            if isinstance(value, ast.AST):
                stack.append(value)
            elif isinstance(value, list):
                stack += [item for item in value if isinstance(item, ast.AST)]
