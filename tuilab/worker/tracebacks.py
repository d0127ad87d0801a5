"""Limits tracebacks to user code, so that users see where their code failed."""

import re
import traceback
from pathlib import Path
from typing import Any

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_block, sanitize_line

PACKAGE = Path(__file__).resolve().parents[1]

_own: set[str] = set()


def owns(folder: str) -> None:
    """Treat files in `folder` as user code."""
    _own.add(folder)


_NODE = re.compile(r"^(?:\{\{function_node .*?\}\} *)+")
_AFTER = re.compile(r"\s*\[Op:[^\]]*\](?: name:.*)?$")
_ASIDE = re.compile(r"\s*(?:\[\[|Hint: |\d+ (?:root error\(s\) found|successful operations|derived errors))")
_ROOT = re.compile(r"\s*\(\d+\) [A-Z_]+: *")
_TRACED = "in user code:"
_FRAME = re.compile(r'File "([^"\n]+)", line ([0-9]{1,9}), in (\w+)')
OWN = 100
"""Maximum number of characters to quote from an error message of user code."""
_NO_ROOM = "Dst tensor is not initialized."
"""TensorFlow's entire message when a copy runs out of memory."""


def cause(error: BaseException) -> str:
    """Return the error's message in one line.

    The error of a graph starts with the frames that built the graph; the actual message follows the last
    blank line, among node names and hints. An error of user code ends with the line that raised it.
    """
    text, place = text_of(error).strip(), _place(error)
    if text.startswith(_TRACED):
        text = text.rpartition("\n")[2].strip().removeprefix(f"{type(error).__name__}: ")
    if text.startswith("Graph execution error"):
        text = text.rpartition("\n\n")[2]
    lines = [line for line in _AFTER.sub("", text).splitlines() if not _ASIDE.match(line)]
    roots = [_NODE.sub("", _ROOT.sub("", line)).strip() for line in lines]
    output = " ".join(dict.fromkeys(line for line in roots if line))
    if output.endswith(_NO_ROOM):
        output += " (the device has no memory left for the copy)"
    return sanitize_line(output, OWN if place else 500) + place


def _place(error: BaseException) -> str:
    """Return the innermost line of user code in the error, as ` (model.py, line 15, in step)`; "" if there is
    none.
    """
    if not _own:
        return ""
    frames = [(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)]
    # Traced code runs from a file that TensorFlow generated; the error's message names the user's file.
    frames += [(file, int(line), name) for file, line, name in _FRAME.findall(text_of(error))]
    mine = [frame for frame in frames if _is_own(frame[0])]
    if not mine:
        return ""
    file, line, name = mine[-1]
    # Neither AutoGraph nor Python gives a lambda a useful name.
    within = f", in {sanitize_line(name, 80)}" if name.isidentifier() and name != "None" else ""
    return f" ({sanitize_line(Path(file).name, 80)}, line {line}{within})"


def lacks_memory(tf: Any, error: BaseException) -> bool:
    return isinstance(error, tf.errors.ResourceExhaustedError) or _NO_ROOM in text_of(error)


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as fault:
        return f"(its text raises {type(fault).__name__})"


def user_traceback(error: BaseException) -> str:
    """Return the sanitized traceback, limited to frames of user code if there are any, else without tuilab's
    frames.

    Returns "" for an InputError, whose message is complete.
    """
    if isinstance(error, InputError) and _own:
        return ""
    whole = traceback.TracebackException.from_exception(error)
    _trim(whole)
    # XLA's message quotes the frames that built an op.
    lines = "".join(whole.format()).splitlines(keepends=True)
    return sanitize_block("".join(line for line in lines if not _is_quoted(line)))


def _is_quoted(line: str) -> bool:
    """Return True if the line is a frame of tuilab's own code in the message of an error."""
    frame = _FRAME.match(line)
    return frame is not None and (frame[1].startswith("<frozen") or Path(frame[1]).is_relative_to(PACKAGE))


def _is_own(filename: str | None) -> bool:
    return filename is not None and str(Path(filename).parent) in _own


def _trim(of: traceback.TracebackException | None) -> None:
    if of is None or not _own:
        return
    mine = [frame for frame in of.stack if _is_own(frame.filename)]
    # Neither a file that fails to parse nor traced code has frames of its own; the error object itself
    # contains the line.
    named = [getattr(of, "filename", None), *(file for file, _, _ in _FRAME.findall(str(of)))]
    if not mine and not any(map(_is_own, named)):
        mine = [frame for frame in of.stack if not Path(frame.filename).is_relative_to(PACKAGE)]
    of.stack = traceback.StackSummary.from_list(mine)
    _trim(of.__cause__)
    _trim(of.__context__)
