"""Finds the code in Markdown or plain text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_OPEN = re.compile(r"^(?P<indent>[ \t]*(?:[-*+>][ \t]+)?)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_PRE = re.compile(r"^\s*(?:<pre\b[^>]*>\s*)(?:<code\b[^>]*>)?(?P<rest>.*)$", re.IGNORECASE)
_PRE_END = re.compile(r"(?:</code>\s*)?</pre>", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)(?: |$)")


@dataclass
class CodePiece:
    """A piece of code in lines `first` to `last` (0-based, inclusive), or `start` to `end` with its markup.

    language: as named by the fence, "" if it names none; `indented` for indented code, `pre` for HTML.
    """

    start: int
    end: int
    first: int
    lines: list[str] = field(default_factory=list)
    language: str = ""
    info: str = ""


def pieces(lines: Sequence[str], start: int = 0) -> Iterator[CodePiece]:
    """Yield every fenced, `<pre>` or indented piece of code, from line `start` on."""
    index, blank = start, True
    while index < len(lines):
        line = lines[index]
        fence = _OPEN.match(line)
        found = None
        if fence:
            found = _fenced_piece(lines, index, fence)
        elif line.lstrip()[:4].lower() == "<pre":
            found = _pre(lines, index)
        elif (blank and _indented(line)) or _PROMPT.match(line):
            found = _by_indentation(lines, index)
        if found is None:
            blank = not line.strip()
            index += 1
        else:
            yield found
            index, blank = found.end + 1, True


def language(info: str) -> str:
    """Return the language that a fence names, such as `python`, `{.python}`, `py3 title="x"`, `{code-cell}
    ipython3`.
    """
    words = [w.lower() for w in _WORD.findall(info[:200])]
    if words[:1] in (["code"], ["code-cell"], ["code-block"]):
        words = words[1:]
    return words[0] if words else ""


def _fenced_piece(lines: Sequence[str], at: int, fence: "re.Match[str]") -> CodePiece:
    mark = fence["fence"]
    closer = re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    index = at + 1
    while index < len(lines) and not closer.match(lines[index]):
        again = _OPEN.match(lines[index])
        # A fence that names a language opens a new block, so the closing fence of this one is missing.
        if again and language(again["info"]) and again["fence"][0] == mark[0] and len(again["fence"]) >= 3:
            return _piece(lines, at, index - 1, index, fence["info"])
        index += 1
    return _piece(lines, at, min(index, len(lines) - 1), index, fence["info"])


def _piece(lines: Sequence[str], at: int, end: int, stop: int, info: str) -> CodePiece:
    return CodePiece(at, end, at + 1, list(lines[at + 1 : stop]), language(info), info)


def _pre(lines: Sequence[str], at: int) -> CodePiece | None:
    match = _PRE.match(lines[at])
    if not match:
        return None
    body, index = [match["rest"]], at
    while not _PRE_END.search(body[-1]) and index + 1 < len(lines):
        index += 1
        body.append(lines[index])
    body[-1] = _PRE_END.split(body[-1])[0]
    if not body[0].strip() and len(body) > 1:
        return CodePiece(at, index, at + 1, body[1:], "pre")
    return CodePiece(at, index, at, body, "pre")


def _indented(line: str) -> bool:
    return bool(line.strip()) and line.startswith(("    ", "\t"))


def _by_indentation(lines: Sequence[str], at: int) -> CodePiece:
    end = index = at
    while index < len(lines):
        line = lines[index]
        if _indented(line) or _PROMPT.match(line):
            end = index
        elif line.strip():
            break
        index += 1
    return CodePiece(at, end, at, list(lines[at : end + 1]), "indented")
