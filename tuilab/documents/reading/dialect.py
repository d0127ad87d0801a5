"""Converts Python as printed in articles to plain Python, line by line: IPython magics, shell lines and
interpreter prompts.
"""

import re
from dataclasses import dataclass

from tuilab.documents.reading.parse import is_whole

# Names that replace a magic in the parsed code. Real code does not use them.
TIMEIT, TIMEIT_ONCE, TIME, WHOLE_TIMEIT, WHOLE_TIMEIT_ONCE, WHOLE_TIME = (
    "_ipython_timeit_",
    "_ipython_timeit_once_",
    "_ipython_time_",
    "_ipython_cell_timeit_",
    "_ipython_cell_timeit_once_",
    "_ipython_cell_time_",
)
_STATEMENTS = {"timeit": TIMEIT, "time": TIME}
_CELLS = {"timeit": WHOLE_TIMEIT, "time": WHOLE_TIME}
# Also matches the target in `name = %time …`. The assigned value is not tracked.
_MAGIC = re.compile(
    r"^(?P<indent>[ \t]*)(?:[A-Za-z_]\w*\s*=\s*(?=%time))?(?P<mark>%{1,2})(?P<name>[A-Za-z_]\w*)(?P<rest>.*)$"
)
# `%a = …` is an assignment in another language.
_ASSIGNED = re.compile(r"^(?::\d+)?\s*=(?!=)")
_SHELL = re.compile(r"^(?P<indent>[ \t]*)(?:!|\?\w|[A-Za-z_.]+\?\??$)")
_OPTIONS = re.compile(r"^(?:\s+-[nrp]\s*\d+|\s+-[qotc])+(?=\s|$)")
_PROMPT = re.compile(r"^(\s*)(?:>>>|\.\.\.|In \[\d*\]:|\.{3,}:)(?: (.*)|)$")
_OTHER_LANGUAGES = ("bash", "sh", "html", "javascript", "writefile", "script", "perl", "ruby", "capture_png")


@dataclass(frozen=True)
class Plain:
    """Code that Python's parser accepts, with the line numbers of the original.

    magics: (0-based line, name) of each IPython magic. cell: the magic that times the whole code. session:
    True for an interpreter session with prompts and results.
    """

    lines: tuple[str, ...]
    magics: tuple[tuple[int, str], ...] = ()
    cell: str = ""
    session: bool = False


def plain(code: str) -> Plain:
    """Return the code as plain Python: without prompts and their output, with timing magics as `with`
    statements, and with `pass` for shell lines and other magics.
    """
    lines = code.split("\n")
    session = is_session(lines)
    if session:
        lines = _without_prompts(lines)
    if not session and any("%" in line and _MAGIC.match(line) for line in lines) and is_whole(lines):
        # The code parses as Python, so any line that looks like a magic is inside a string.
        return Plain(tuple(lines))
    magics: list[tuple[int, str]] = []
    cell, out = "", list[str]()
    for number, line in enumerate(lines):
        match = _MAGIC.match(line) if "%" in line else None
        if match and _ASSIGNED.match(match["rest"]):
            match = None
        if match and match["mark"] == "%%":
            if not any(text.strip() for text in out) and match["name"] in _OTHER_LANGUAGES:
                return Plain(("",) * len(lines), ((number, match["name"]),))
            cell = cell or _CELLS.get(match["name"], "")
            if cell == WHOLE_TIMEIT and _is_once(match["rest"]):
                cell = WHOLE_TIMEIT_ONCE
            magics.append((number, "%%" + match["name"]))
            out.append(match["indent"] + "pass")
        elif match:
            magics.append((number, "%" + match["name"]))
            out.append(match["indent"] + _statement(match["name"], match["rest"]))
        else:
            shell = _SHELL.match(line) if "!" in line or "?" in line else None
            out.append(shell["indent"] + "pass" if shell else line)
    return Plain(tuple(out), tuple(magics), cell, session)


def _statement(name: str, rest: str) -> str:
    """Turn `%timeit -n 10 f(x)` into `with _ipython_timeit_: f(x)`, because the body of a `with` may be any
    simple statement.
    """
    word = _STATEMENTS.get(name, "")
    options = _OPTIONS.match(rest)
    body = rest[options.end() if options else 0 :].strip()
    if not word or (name == "time" and not body):
        return "pass"
    if word == TIMEIT and _is_once(rest):
        word = TIMEIT_ONCE
    if body.endswith(":"):
        # A magic times only the code on its own line, not the block below it.
        return body
    return f"with {word}: {'pass' if not body or body.startswith('#') else body}"


def _is_once(rest: str) -> bool:
    options = _OPTIONS.match(rest)
    return bool(options and _ONE_RUN.search(options[0]) and _ONE_LOOP.search(options[0]))


_ONE_RUN, _ONE_LOOP = re.compile(r"-r\s*1\b"), re.compile(r"-n\s*1\b")


def is_session(lines: list[str]) -> bool:
    """Return True if the lines are an interpreter session: the first line has a prompt; or a later line has
    one, and the lines are not valid Python.
    """
    first = next((line for line in lines if line.strip()), "")
    if _PROMPT.match(first) and not first.lstrip().startswith("..."):
        return True
    if not any(_PROMPT.match(line) for line in lines) or any(
        '"""' in line or "'''" in line for line in lines
    ):
        return False
    return not is_whole(lines)


def _without_prompts(lines: list[str]) -> list[str]:
    out = []
    for line in lines:
        match = _PROMPT.match(line)
        out.append((match[2] or "") if match else "")
    return out


_SET_UP = re.compile(
    r"^\s*(?:%(?:matplotlib|load_ext|config|tensorflow_version|pip|conda|cd|env|reload_ext|autoreload|pylab)\b"
    r"|%%\w|!\s*(?:pip|wget|curl|apt|git|ls|unzip|mkdir|nvidia-smi)\b)",
    re.MULTILINE,
)


def is_notebook(code: str) -> bool:
    return ("%" in code or "!" in code) and bool(_SET_UP.search(code))
