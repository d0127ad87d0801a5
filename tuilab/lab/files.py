"""Files that the app writes for a person: the copied command, exports, the mark of a first visit."""

import os
from pathlib import Path

from tuilab.model.sanitize import sanitize_block, sanitize_line


def state_folder() -> Path:
    """Where the app remembers things."""
    import platformdirs

    return Path(platformdirs.user_state_dir("tuilab"))


def write_private(path: Path, text: str) -> bool:
    """Write a file that only its owner can read; False where that is not possible."""
    try:
        if not path.is_absolute():  # nobody knows where home is
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True


def keep_command(line: str) -> Path | None:
    """Keep a copied command in a file too, as a clipboard may not reach over ssh; None where that fails."""
    path = state_folder() / "command.txt"
    return path if write_private(path, line + "\n") else None


def keep_fault(error: BaseException | None) -> str:
    """Write down what went wrong in the lab itself; what to say of it."""
    import tempfile
    import traceback

    text = sanitize_block("".join(traceback.format_exception(error)))
    for folder in (state_folder(), Path(tempfile.gettempdir())):
        path = folder / "tuilab-fault.txt"
        if write_private(path, text):
            break
    else:
        return f"a fault of the lab's own ended it. Runs are kept.\n{text}"
    said = sanitize_line(f"{type(error).__name__}: {error}", 200)
    return f"a fault of the lab's own ended it ({said}). Runs are kept; the details are in {path}"


def first_visit() -> bool:
    """Whether the lab has not been opened here before; says so only once."""
    mark = state_folder() / "visited"
    try:
        if mark.exists():
            return False
    except OSError:  # a home that is not to be looked into
        return False
    write_private(mark, "")
    return True
