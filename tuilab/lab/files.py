"""A user's files: what the app remembers of them, the copied command, a path that is being typed."""

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple


def state_folder() -> Path:
    """Return where the app remembers things."""
    import platformdirs

    return Path(platformdirs.user_state_dir("tuilab"))


def write_private(path: Path, text: str) -> bool:
    """Write a file that only its owner can read; False if that is not possible."""
    from tuilab.model.files import write_text  # after the first paint

    try:
        if not path.is_absolute():  # nobody knows where home is
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() or (path.exists() and path.stat().st_uid != os.geteuid()):
            return False  # among the temporary files anybody may have put it there
        write_text(path, [text])
    except OSError:
        return False
    return True


def at_once(path: Path) -> BinaryIO:
    """Open a small file of the lab's own, without waiting for a pipe in its place. Raises OSError."""
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


class Preferences(NamedTuple):
    """What the lab remembers of a user, from one start to the next."""

    theme: str = ""
    """The name of the colours that were chosen, "" for the lab's own dark ones."""
    recent: tuple[str, ...] = ()
    """Paths that were opened, the latest first."""
    environments: tuple[str, ...] = ()
    """Environments that were added, `NAME=PATH[,VARIABLE=VALUE…]`, the latest first."""


INPUT = " --input "
"""Stands between a function's path and the shape of an argument."""
MOST_RECENT = 12
LARGEST = 100_000


def preferences() -> Preferences:
    """Return what is remembered; nothing if the file is not there, not ours, or cannot be read now."""
    try:
        return _read_preferences()
    except OSError:
        return Preferences()


def _read_preferences() -> Preferences:
    """Raises OSError if a file that is there cannot be read: to write another would lose it."""
    try:
        with at_once(state_folder() / "preferences.json") as file:
            found = json.loads(file.read(LARGEST))
        theme = str(found.get("theme", ""))
        recent, kept = (tuple(map(str, found.get(name, ()))) for name in ("recent", "environments"))
    except (FileNotFoundError, ValueError, AttributeError, TypeError, RecursionError):  # or not ours
        return Preferences()
    from tuilab.model.sanitize import sanitize_line

    lists = (tuple(sanitize_line(word, 1_000) for word in words) for words in (recent, kept))
    return Preferences(sanitize_line(theme, 100), *lists)


def _remember(change: Callable[[Preferences], Preferences]) -> None:
    """Change what is remembered; where it cannot be read or written it holds for this time only."""
    with contextlib.suppress(OSError):
        text = json.dumps(change(_read_preferences())._asdict())
        write_private(state_folder() / "preferences.json", text)


def remember_theme(name: str) -> None:
    """Put another theme in place of the one that was chosen before."""
    _remember(lambda before: before._replace(theme=name))


def remember_opened(path: str) -> None:
    """Put a path at the head of those that were opened, to be found from another folder too.

    One that is no UTF-8 is not remembered.
    """
    if path == path.encode(errors="ignore").decode():
        _remember(lambda before: before._replace(recent=_first(_whole(path), before.recent, _whole)))


def reopened() -> list[str]:
    """Return what was opened and is still there, the latest first."""
    known = [path for path in preferences().recent if _is_there(_parted(path)[1]) or path.isidentifier()]
    return list(dict.fromkeys(map(_whole, known)))


def from_here(path: str) -> str:
    """Return a path that was opened as one would type it in the folder that the lab runs in."""
    verb, words = _parted(path)
    folder = f"{Path.cwd()}/"
    return verb + words.removeprefix(folder) if words != folder else path


def _whole(path: str) -> str:
    """The path from the root, where there is such a file."""
    verb, words = _parted(path)
    place, option, shapes = words.partition(INPUT)
    return verb + os.path.abspath(os.path.expanduser(place)) + option + shapes if _is_there(place) else path


def _parted(path: str) -> tuple[str, str]:
    """`watch ` and the path behind it; "" where there is none."""
    verb = "watch " * path.startswith("watch ")
    return verb, path.removeprefix(verb)


def _is_there(words: str) -> bool:
    """Whether the file is there, or that before a function's or a signature's name and its shapes."""
    words = words.partition(INPUT)[0]
    try:
        names = [os.path.expanduser(name) for name in (words, words.rpartition(":")[0]) if name]
        return any(map(os.path.exists, names))
    except ValueError:
        return False


def remember_environment(word: str) -> None:
    """Put an environment at the head of those that were added, in place of one of its name."""
    _remember(lambda before: before._replace(environments=_first(word, before.environments, _name_of)))


def _name_of(environment: str) -> str:
    return environment.partition("=")[0]


def _first(word: str, before: tuple[str, ...], name: Callable[[str], str]) -> tuple[str, ...]:
    return (word, *(known for known in before if name(known) != name(word)))[:MOST_RECENT]


def completed(typed: str) -> str | None:
    """Return the first file or folder, in order of names, that begins as it was typed; None for none."""
    if not typed:
        return None
    path = Path(os.path.expanduser(typed))
    folder, start = (path, "") if typed.endswith("/") else (path.parent, path.name)
    try:
        names = sorted(entry.name + "/" * entry.is_dir() for entry in os.scandir(folder))
    except OSError:
        return None
    shown = [name for name in names if name.startswith(start) and (start[:1] == "." or name[0] != ".")]
    return typed + shown[0][len(start) :] if shown and shown[0].isprintable() else None


def completed_to_file(typed: str) -> str | None:
    """Return the file that completes what was typed, where that is the beginning of a name and no name."""
    whole = completed(typed) if typed and not _is_there(typed) else None
    return whole if whole and os.path.isfile(os.path.expanduser(whole)) else None


def keep_command(line: str) -> Path | None:
    """Keep a copied command in a file too, as a clipboard may not reach over ssh; None if that fails."""
    path = state_folder() / "command.txt"
    return path if write_private(path, line + "\n") else None


def keep_fault(error: BaseException | None) -> str:
    """Write down what went wrong in the lab itself; what to say of it."""
    import tempfile
    import traceback

    from tuilab.model.sanitize import sanitize_block, sanitize_line

    text = sanitize_block("".join(traceback.format_exception(error)))
    for folder in (state_folder(), Path(tempfile.gettempdir())):
        path = folder / "tuilab-fault.txt"
        if write_private(path, text):
            break
    else:
        return f"tuilab stopped on an internal error. Runs are kept.\n{text}"
    said = sanitize_line(f"{type(error).__name__}: {error}", 200)
    return f"tuilab stopped on an internal error ({said}). Runs are kept; the details are in {path}"


def first_visit() -> bool:
    """Return whether the lab has not been opened here before; says so only once."""
    mark = state_folder() / "visited"
    try:
        if mark.exists():
            return False
    except OSError:  # a home that is not to be looked into
        return False
    write_private(mark, "")
    return True
