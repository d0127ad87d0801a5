"""Small changes that make the program's output wrong for users: other operators, conditions, numbers and
words.
"""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOMS = ("analysis", "history", "lab", "model", "report")

# Replace `<` with its opposite. Users would rarely notice `<=`.
_COMPARED = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}


@dataclass(frozen=True)
class Change:
    """A replacement in a file.

    start, end: columns in the line, from 0. kind: the kind of code that is replaced.
    """

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str
    kind: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.start}  {self.before} → {self.after}"

    def applied(self, source: str) -> str:
        """Return the changed source. Raises ValueError if the text to replace is not there."""
        lines = source.splitlines(keepends=True)
        text = lines[self.line - 1]
        if text[self.start : self.end] != self.before:
            raise ValueError(f"{self}: the line is {text!r}")
        lines[self.line - 1] = text[: self.start] + self.after + text[self.end :]
        return "".join(lines)


def seeded(root: Path, seed: int, number: int, rooms: Sequence[str] = ROOMS) -> list[Change]:
    """Return `number` changes, spread evenly over these packages. The same seed gives the same changes.

    Lines are chosen by their content, so adding, moving or removing a line does not affect the other choices.
    """
    chosen: list[Change] = []
    for index, room in enumerate(rooms):
        drawn: list[tuple[str, Change]] = []
        for file in sorted((root / "tuilab" / room).rglob("*.py")):
            name, source = file.relative_to(root).as_posix(), file.read_text()
            lines = source.splitlines()
            for change in changes(name, source):
                line = lines[change.line - 1]
                at = f"{seed} {name} {line.strip()} {len(line) - change.start} {change.before} {change.after}"
                drawn.append((hashlib.sha256(at.encode()).hexdigest(), change))
        drawn.sort(key=lambda pair: pair[0])
        share = number // len(rooms) + (index < number % len(rooms))
        chosen += [change for _, change in drawn[:share]]
    return chosen


@cache
def changes(file: str, source: str) -> list[Change]:
    found = list(_Finder(file, source).found())
    return sorted(set(found), key=lambda change: (change.line, change.start, change.after))


class _Finder:
    def __init__(self, file: str, source: str) -> None:
        self._file, self._lines = file, source.splitlines()
        self._tree = ast.parse(source)
        self._left_out = self._untold()

    def _untold(self) -> set[int]:
        """Return the ids of the nodes that must not change, such as docstrings, annotations, imports, errors
        and decorators.
        """
        out: set[int] = set()
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                out |= _ids(node)
            for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                if part is not None:
                    out |= _ids(part)
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                out |= _ids(node)
            if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") in ("Literal", "Annotated"):
                out |= _ids(node)
            if isinstance(node, ast.Assert | ast.Raise | ast.Import | ast.ImportFrom):
                out |= _ids(node)
            # `zip(…, strict=True)` changes no result: it checks lengths that are always equal.
            if isinstance(node, ast.keyword) and node.arg in ("repr", "strict"):
                out |= _ids(node)
            if isinstance(node, ast.ClassDef):
                out |= {each for keyword in node.keywords for each in _ids(keyword)}
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                out |= {each for decorator in node.decorator_list for each in _ids(decorator)}
        return out

    def found(self) -> Iterator[Change]:
        for node in ast.walk(self._tree):
            if id(node) in self._left_out:
                continue
            match node:
                case ast.Compare():
                    yield from self._compared(node)
                case ast.BinOp():
                    yield from self._computed(node)
                case ast.BoolOp():
                    yield from self._joined(node)
                case ast.UnaryOp(op=ast.Not()):
                    yield from self._at(
                        node.lineno, node.col_offset, node.operand.col_offset, "not ", "", "condition"
                    )
                case ast.IfExp() | ast.If():
                    yield from self._asked(node.test)
                case ast.Constant():
                    yield from self._constant(node)
                case _:
                    pass

    def _at(self, line: int, start: int, end: int, before: str, after: str, kind: str) -> Iterator[Change]:
        """Yield a change between two columns (in bytes) of a line, if the text between them contains `before`
        exactly once.
        """
        raw = self._lines[line - 1].encode()
        first = len(raw[:start].decode())
        text = raw[start:end].decode()
        at = text.find(before)
        if at >= 0 and text.count(before) == 1:
            yield Change(self._file, line, first + at, first + at + len(before), before, after, kind)

    def _between(self, left: ast.expr, right: ast.expr, pair: tuple[str, str], kind: str) -> Iterator[Change]:
        if left.end_lineno == right.lineno and left.end_col_offset is not None:
            # words such as `in` need spaces around them, because many names contain them
            blank = " " if pair[0][0].isalpha() else ""
            before, after = f"{blank}{pair[0]}{blank}", f"{blank}{pair[1]}{blank}"
            yield from self._at(right.lineno, left.end_col_offset, right.col_offset, before, after, kind)

    def _compared(self, node: ast.Compare) -> Iterator[Change]:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if pair := _COMPARED.get(type(op)):
                yield from self._between(left, right, pair, "comparison")

    def _computed(self, node: ast.BinOp) -> Iterator[Change]:
        text = isinstance(node.left, ast.JoinedStr | ast.List | ast.Tuple)
        text = text or (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str))
        text = text or isinstance(node.right, ast.JoinedStr | ast.List | ast.Tuple)
        text = text or (isinstance(node.right, ast.Constant) and isinstance(node.right.value, str))
        if not text and (pair := _COMPUTED.get(type(node.op))):
            yield from self._between(node.left, node.right, pair, "arithmetic")

    def _joined(self, node: ast.BoolOp) -> Iterator[Change]:
        pair = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._between(left, right, pair, "condition")

    def _asked(self, test: ast.expr) -> Iterator[Change]:
        """Yield the negation of a condition that is a single name or call."""
        if isinstance(test, ast.Name | ast.Attribute | ast.Call) and test.lineno == test.end_lineno:
            assert test.end_col_offset is not None
            raw = self._lines[test.lineno - 1].encode()
            text = raw[test.col_offset : test.end_col_offset].decode()
            yield from self._at(
                test.lineno, test.col_offset, test.end_col_offset, text, f"(not {text})", "condition"
            )

    def _constant(self, node: ast.Constant) -> Iterator[Change]:
        if node.lineno != node.end_lineno or node.end_col_offset is None:
            return
        raw = self._lines[node.lineno - 1].encode()
        text = raw[node.col_offset : node.end_col_offset].decode()
        value = node.value
        if value is True or value is False:
            yield from self._at(
                node.lineno, node.col_offset, node.end_col_offset, text, str(not value), "constant"
            )
        elif isinstance(value, int | float) and text.replace("_", "").replace(".", "").isdigit():
            other = f"{text} + 1" if value in range(10) else f"{text} * 2"
            yield from self._at(
                node.lineno, node.col_offset, node.end_col_offset, text, f"({other})", "constant"
            )
        elif isinstance(value, str) and text[:1] in "'\"" and " " in value.strip():
            word = max(value.split(), key=len)
            if word.isalpha() and len(word) > 2 and text.count(word) == 1:
                yield from self._at(
                    node.lineno, node.col_offset, node.end_col_offset, word, word[::-1], "word"
                )


def _ids(node: ast.AST) -> set[int]:
    return {id(each) for each in ast.walk(node)}
