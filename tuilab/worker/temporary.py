"""Manages the folder for this process's temporary files.

The process's guard deletes the folder. If the guard fails, the next worker that starts deletes the folder.
"""

import contextlib
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from tuilab.processes import since

LOADER = "tensorflow.python.autograph.pyct.loader"


def folder_name() -> Path | None:
    """Return a name for this process's folder. The name is unique even if a later process has the same id.
    Returns None on systems other than Linux.
    """
    begun = since(os.getpid())
    place = Path(tempfile.gettempdir())
    # A confined process that replaces itself inherits its folder as TMPDIR.
    if place.name == f"tuilab-worker-{os.getuid()}-{os.getpid()}-{begun}":
        return place
    return place / f"tuilab-worker-{os.getuid()}-{os.getpid()}-{begun}" if begun else None


def process_folder() -> Path | None:
    """Create this process's folder and delete the folders that killed processes left behind. Returns None if
    it cannot be created.
    """
    own = folder_name()
    if own is None:
        return None
    with contextlib.suppress(OSError):
        for other in own.parent.glob(f"tuilab-worker-{os.getuid()}-*-*"):
            pid, begun = other.name.split("-")[3:5]
            ours = other.lstat().st_uid == os.getuid() and not other.is_symlink()
            if ours and pid.isdigit() and str(since(int(pid))) != begun:
                shutil.rmtree(other, ignore_errors=True)
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        return own if own.lstat().st_uid == os.getuid() and not own.is_symlink() else None
    except OSError:
        return None


def keep_generated_code_apart() -> None:
    """Make AutoGraph write its generated code to this process's folder. Call after TensorFlow is imported.

    TensorFlow removes its files when a process exits normally, but not when it is killed.
    """
    loader = sys.modules.get(LOADER)
    if loader is not None and hasattr(loader, "tempfile") and (own := process_folder()) is not None:
        made = partial(tempfile.NamedTemporaryFile, dir=own)
        loader.tempfile = SimpleNamespace(NamedTemporaryFile=made)  # type: ignore[attr-defined]
