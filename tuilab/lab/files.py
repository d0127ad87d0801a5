"""Reads and writes the user's own files, such as the preferences, and completes paths."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple


def state_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_state_dir("tuilab"))


def write_private(path: Path, text: str) -> bool:
    """Write a file that only its owner can read. Returns False on failure."""
    from tuilab.model.files import write_text  # imported here, because the first paint does not need it

    try:
        if not path.is_absolute():  # the home folder is unknown
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or (path.exists() and path.stat().st_uid != os.geteuid()):
            return False  # the file may be in the temporary folder, where another user may have created it
        write_text(path, [text])
    except OSError:
        return False
    return True


def at_once(path: Path) -> BinaryIO:
    """Open one of the lab's small files. Does not block if a pipe has replaced the file. Raises OSError."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class Preferences(NamedTuple):
    theme: str = ""
    recent: tuple[str, ...] = ()
    """Recently opened paths, latest first."""
    environments: tuple[str, ...] = ()
    """Python environments that the user added, `NAME=PATH[,VARIABLE=VALUE…]`, latest first."""


WATCH = "watch "
"""Prefix that the user types before a program and its arguments to watch the program."""
INPUT = " --input "
"""Separator between a function's path and the shapes of its arguments."""
MOST_RECENT = 12
LARGEST = 100_000


def preferences() -> Preferences:
    """Return the saved preferences, or the defaults if there is no valid file."""
    try:
        return _read_preferences()
    except OSError:
        return Preferences()


def _read_preferences() -> Preferences:
    """Return the saved preferences, or the defaults if the file is missing or invalid. Raises OSError if the
    file exists but is unreadable, so that the caller does not overwrite it.
    """
    try:
        with at_once(state_folder() / "preferences.json") as file:
            found = json.loads(file.read(LARGEST))
        theme = str(found.get("theme", ""))
        recent, kept = (tuple(map(str, found.get(name, ()))) for name in ("recent", "environments"))
    # the file is missing or invalid
    except (FileNotFoundError, ValueError, AttributeError, TypeError, RecursionError):
        return Preferences()
    from tuilab.model.sanitize import sanitize_line

    lists = (tuple(sanitize_line(word, 1_000) for word in words) for words in (recent, kept))
    return Preferences(sanitize_line(theme, 100), *lists)


def _remember(change: Callable[[Preferences], Preferences]) -> None:
    with contextlib.suppress(OSError):
        text = json.dumps(change(_read_preferences())._asdict())
        write_private(state_folder() / "preferences.json", text)


def remember_theme(name: str) -> None:
    _remember(lambda before: before._replace(theme=name))


def remember_opened(path: str) -> None:
    """Put the absolute form of a path first among the recent paths. Ignores a path that is not UTF-8."""
    if path == path.encode(errors="ignore").decode():
        _remember(lambda before: before._replace(recent=_first(_whole(path), before.recent, _whole)))


def reopened() -> list[str]:
    """Return recent paths that still exist, latest first."""
    known = [path for path in preferences().recent if _is_there(_parts(path)[1]) or path.isidentifier()]
    return list(dict.fromkeys(map(_whole, known)))


def from_here(path: str) -> str:
    verb, place, rest = _parts(path)
    folder = f"{Path.cwd()}/"
    return verb + place.removeprefix(folder) + rest if place != folder else path


def _whole(path: str) -> str:
    verb, place, rest = _parts(path)
    return verb + os.path.abspath(os.path.expanduser(place)) + rest if _is_there(place) else path


def _parts(path: str) -> tuple[str, str, str]:
    """Split typed words into the prefix `WATCH` ("" if absent), the path, and the input shapes or the
    program's arguments.
    """
    verb = WATCH * path.startswith(WATCH)
    words = path.removeprefix(verb)
    suffix, option = ("", INPUT) if INPUT in words else (".py", " ")
    place, option, rest = words.partition(suffix + option)
    return (verb, place + suffix, option.removeprefix(suffix) + rest) if option else (verb, words, "")


def _is_there(words: str) -> bool:
    """Return True if the file exists. `words` is a path, which may be followed by `:NAME`."""
    try:
        names = [os.path.expanduser(name) for name in (words, words.rpartition(":")[0]) if name]
        return any(map(os.path.exists, names))
    except ValueError:
        return False


def remember_environment(word: str) -> None:
    """Put an environment first among the saved environments. Replaces an environment with the same name."""
    _remember(lambda before: before._replace(environments=_first(word, before.environments, _name_of)))


def _name_of(environment: str) -> str:
    return environment.partition("=")[0]


def _first(word: str, before: tuple[str, ...], name: Callable[[str], str]) -> tuple[str, ...]:
    return (word, *(known for known in before if name(known) != name(word)))[:MOST_RECENT]


def completed(typed: str) -> str | None:
    """Complete the typed path to the first match in alphabetical order; None if nothing matches."""
    if not typed:
        return None
    # A `Path` would drop a final `.`, which may be the start of a hidden file's name.
    folder, start = os.path.split(os.path.expanduser(typed))
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(folder or "."))
    except OSError:
        return None
    shown = [name for name in names if name.startswith(start) and (start[:1] == "." or name[0] != ".")]
    return typed + shown[0][len(start) :] if shown and shown[0].isprintable() else None


def completed_to_file(typed: str) -> str | None:
    """Complete the typed path to the first matching file; None if the path is already complete."""
    whole = completed(typed) if typed and not _is_there(_parts(typed)[1]) else None
    return whole if whole and os.path.isfile(os.path.expanduser(whole)) else None


def keep_command(line: str) -> Path | None:
    """Save a copied command to a file, because a clipboard may not work over ssh. Returns the file's path, or
    None on failure.
    """
    path = state_folder() / "command.txt"
    return path if write_private(path, line + "\n") else None


def keep_fault(error: BaseException | None) -> str:
    """Write a report about an internal error to a file. Returns a message for the user."""
    import tempfile
    import traceback

    from tuilab.model.sanitize import sanitize_block, sanitize_error

    text = sanitize_block("".join(traceback.format_exception(error)))
    for folder in (state_folder(), Path(tempfile.gettempdir())):
        path = folder / "tuilab-fault.txt"
        if write_private(path, text):
            break
    else:
        return f"tuilab stopped because of an internal error. All runs are saved.\n{text}"
    what = sanitize_error(error)
    return f"tuilab stopped because of an internal error ({what}). All runs are saved; details are in {path}"


def first_visit() -> bool:
    """Return True when the user opens the lab for the first time, and False later."""
    mark = state_folder() / "visited"
    try:
        if mark.exists():
            return False
    except OSError:  # the home folder is unreadable
        return False
    write_private(mark, "")
    return True
