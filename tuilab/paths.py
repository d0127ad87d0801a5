"""Where runs are kept, and with which permissions."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
ENVIRONMENT = "TUILAB_DATA"


def data_folder() -> Path:
    """Return the user's data folder for tuilab; `TUILAB_DATA` overrides it. Not made here."""
    if os.environ.get(ENVIRONMENT):
        return Path(os.path.expanduser(os.environ[ENVIRONMENT])).absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("tuilab"))


def fallback_folder() -> Path | None:
    """Return where runs go while this data folder cannot be used; None without a temporary folder."""
    name = hashlib.sha256(os.fsencode(data_folder())).hexdigest()[:8]
    try:
        return Path(tempfile.gettempdir()) / f"tuilab-{os.getuid()}-{name}"
    except OSError:
        return None


def private_folder(path: Path) -> Path:
    """Make the folder, readable by its owner alone. Raises OSError where that cannot be done.

    A relative path, which a home that nobody knows leads to, is refused, and so is a folder among the
    temporary files that somebody else made.
    """
    if not path.is_absolute():
        raise OSError(0, "your home folder is not known")
    there = path.is_dir()
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    if path == fallback_folder():
        found = path.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
            raise OSError(0, "it belongs to another user")
    # A folder that somebody named may serve others too; what is put into it is private in any case.
    named = there and bool(os.environ.get(ENVIRONMENT)) and path == data_folder()
    if not named and path.stat().st_uid == os.getuid():
        path.chmod(PRIVATE_FOLDER)
    return path
