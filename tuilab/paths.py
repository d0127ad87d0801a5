"""The folders of the presets and of the saved runs, and their permissions."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
ENVIRONMENT = "TUILAB_DATA"


def data_folder() -> Path:
    """Return tuilab's data folder, which `TUILAB_DATA` overrides. Does not create the folder."""
    if os.environ.get(ENVIRONMENT):
        return Path(os.path.expanduser(os.environ[ENVIRONMENT])).absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("tuilab"))


def shipped_folder() -> Path:
    """Return the folder of the bundled presets: in the wheel, or next to the package in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "_presets"
    return inside if inside.is_dir() else package.parent / "presets"


def own_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_config_dir("tuilab")) / "presets"


def preset_folders() -> tuple[Path, Path]:
    return shipped_folder(), own_folder()


def fallback_folder() -> Path | None:
    """Return the folder for runs while the data folder is unusable; None without a temporary folder."""
    name = hashlib.sha256(os.fsencode(data_folder())).hexdigest()[:8]
    try:
        return Path(tempfile.gettempdir()) / f"tuilab-{os.getuid()}-{name}"
    except OSError:
        return None


def private_folder(path: Path) -> Path:
    """Create a folder that only its owner can read.

    Raises OSError on failure, and for two kinds of path: a relative path, which means that the home folder is
    unknown, and another user's folder in the temporary folder.
    """
    if not path.is_absolute():
        raise OSError(0, "your home folder is not known")
    there = path.is_dir()
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    if path == fallback_folder():
        found = path.lstat()
        if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
            raise OSError(0, "it belongs to another user")
    # The user may share the folder that TUILAB_DATA names, so keep its permissions. New files in it are
    # always private.
    named = there and bool(os.environ.get(ENVIRONMENT)) and path == data_folder()
    if not named and path.stat().st_uid == os.getuid():
        path.chmod(PRIVATE_FOLDER)
    return path
