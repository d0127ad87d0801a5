"""The files that AutoGraph writes, in a folder of this process: the next start clears it after a kill."""

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


def keep_generated_code_apart(folder: Path | None = None) -> None:
    """Keep such files apart, once TensorFlow is imported; where it writes none, do nothing.

    TensorFlow removes each file when a process ends by itself, which one that is killed does not.
    """
    loader = sys.modules.get(LOADER)
    if loader is None or not hasattr(loader, "tempfile") or not since(os.getpid()):
        return
    with contextlib.suppress(OSError):
        every = folder or Path(tempfile.gettempdir()) / f"tuilab-autograph-{os.getuid()}"
        every.mkdir(mode=0o700, exist_ok=True)
        if every.stat().st_uid != os.getuid() or every.is_symlink():
            return
        for other in every.iterdir():
            pid, _, begun = other.name.partition("-")
            if not (pid.isdigit() and str(since(int(pid))) == begun):
                shutil.rmtree(other, ignore_errors=True)
        own = every / f"{os.getpid()}-{since(os.getpid())}"
        own.mkdir(mode=0o700, exist_ok=True)
        made = partial(tempfile.NamedTemporaryFile, dir=own)
        loader.tempfile = SimpleNamespace(NamedTemporaryFile=made)  # type: ignore[attr-defined]
