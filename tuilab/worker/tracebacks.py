"""Tracebacks as the author of the failing code wants them."""

import re
import traceback
from pathlib import Path

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_block, sanitize_line

PACKAGE = Path(__file__).resolve().parents[1]

_own: set[str] = set()


def owns(folder: str) -> None:
    """Remember that the files in `folder` are a user's own."""
    _own.add(folder)


_NODE = re.compile(r"^(?:\{\{function_node .*?\}\} *)+")
_AFTER = re.compile(r"\s*\[Op:[^\]]*\](?: name:.*)?$")
_ASIDE = re.compile(r"\s*(?:\[\[|Hint: |\d+ (?:root error\(s\) found|successful operations|derived errors))")
_ROOT = re.compile(r"\s*\(\d+\) [A-Z_]+: *")
_TRACED = "in user code:"
_FRAME = re.compile(r'File "([^"\n]+)", line ([0-9]{1,9}), in (\w+)')
OWN = 100
"""Characters of what an error of own code says, before the line that raised it."""
_NO_ROOM = "Dst tensor is not initialized."
"""All that TensorFlow says where a copy finds no memory."""


def cause(error: BaseException) -> str:
    """Describe what an error says, in one line.

    An error of a graph begins with where the graph was made, frame by frame; what went wrong stands behind
    the last blank line, among names of nodes and hints. One of a user's own code ends with the line of it
    that raised.
    """
    text, place = text_of(error).strip(), _place(error)
    if text.startswith(_TRACED):
        text = text.rpartition("\n")[2].strip().removeprefix(f"{type(error).__name__}: ")
    if text.startswith("Graph execution error"):
        text = text.rpartition("\n\n")[2]
    lines = [line for line in _AFTER.sub("", text).splitlines() if not _ASIDE.match(line)]
    roots = [_NODE.sub("", _ROOT.sub("", line)).strip() for line in lines]
    said = " ".join(dict.fromkeys(line for line in roots if line))
    if said.endswith(_NO_ROOM):
        said += " (the device has no memory left for the copy)"
    return sanitize_line(said, OWN if place else 500) + place


def _place(error: BaseException) -> str:
    """` (model.py, line 15, in step)`: the innermost line of own code that the error came through."""
    if not _own:
        return ""
    frames = [(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)]
    # What TensorFlow traced ran from a file that it made; its message names the user's.
    frames += [(file, int(line), name) for file, line, name in _FRAME.findall(text_of(error))]
    mine = [frame for frame in frames if _is_own(frame[0])]
    if not mine:
        return ""
    file, line, name = mine[-1]
    # AutoGraph and Python name no function where it is a lambda.
    within = f", in {sanitize_line(name, 80)}" if name.isidentifier() and name != "None" else ""
    return f" ({sanitize_line(Path(file).name, 80)}, line {line}{within})"


def text_of(error: BaseException) -> str:
    """Describe what an error says; of one that fails to say it, that."""
    try:
        return str(error)
    except BaseException as fault:
        return f"(its text raises {type(fault).__name__})"


def told(error: BaseException) -> str:
    """Return the traceback with the frames of own files alone, where it has any; cleaned.

    While own code is loaded, an error of TensorFlow's about it comes without the lab's frames, and an
    InputError, whose message says all, without any traceback.
    """
    if isinstance(error, InputError) and _own:
        return ""
    whole = traceback.TracebackException.from_exception(error)
    _trim(whole)
    return sanitize_block("".join(whole.format()))


def _is_own(filename: str | None) -> bool:
    return filename is not None and str(Path(filename).parent) in _own


def _trim(of: traceback.TracebackException | None) -> None:
    if of is None or not _own:
        return
    mine = [frame for frame in of.stack if _is_own(frame.filename)]
    # A file that cannot be parsed has no frame of its own, nor has what TensorFlow traced: the error itself
    # names the line.
    named = [getattr(of, "filename", None), *(file for file, _, _ in _FRAME.findall(str(of)))]
    if not mine and not any(map(_is_own, named)):
        mine = [frame for frame in of.stack if not Path(frame.filename).is_relative_to(PACKAGE)]
    of.stack = traceback.StackSummary.from_list(mine)
    _trim(of.__cause__)
    _trim(of.__context__)
