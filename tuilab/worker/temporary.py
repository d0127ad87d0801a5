"""A folder for the temporary files of this process; its guard removes it, or else the next start does."""

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
    """Return the folder that belongs to this process and to no later one of its number; None off Linux."""
    begun = since(os.getpid())
    place = Path(tempfile.gettempdir())
    if place.name == f"tuilab-worker-{os.getuid()}-{os.getpid()}-{begun}":  # this process has replaced itself
        return place
    return place / f"tuilab-worker-{os.getuid()}-{os.getpid()}-{begun}" if begun else None


def process_folder() -> Path | None:
    """Make that folder, and clear those that killed processes left; None if it cannot be made."""
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
    """Have AutoGraph write to that folder, once TensorFlow is imported.

    TensorFlow removes its files when a process ends by itself, but not those of a killed one.
    """
    loader = sys.modules.get(LOADER)
    if loader is not None and hasattr(loader, "tempfile") and (own := process_folder()) is not None:
        made = partial(tempfile.NamedTemporaryFile, dir=own)
        loader.tempfile = SimpleNamespace(NamedTemporaryFile=made)  # type: ignore[attr-defined]
