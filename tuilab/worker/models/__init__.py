"""Opens a `.keras` or `.h5` file or a SavedModel folder as a workload, after checking its contents."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil

from tuilab.model.errors import InputError
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_error, sanitize_line
from tuilab.model.scenario import Opening
from tuilab.worker.context import Tell
from tuilab.worker.models.opening_limits import limited
from tuilab.workloads.base import Workload

TELL_S = 0.5
LEAST_TOLD = 20_000_000
"""In bytes. The progress of reading a model is reported only for larger models."""
_opened: dict[tuple[str, Opening, tuple[int, ...]], Workload] = {}


def open_model(file: str, opening: Opening, tell: Tell | None = None) -> Workload:
    """Return the model as a workload. Loads it once per worker, and again only if its file changes.

    tell: receives the progress, from another thread. Raises InputError for any problem with the file.
    """
    folder, _, signature = file.rpartition(":")
    if Path(file).is_dir() or not Path(folder or file).is_dir():
        folder, signature = file, ""
    key = file, opening, _version(Path(folder))
    if key not in _opened:
        _opened.clear()  # keep only one: several large models would not fit into memory
        path = Path(folder)
        limits = limited(weight(path), psutil.virtual_memory().available)
        with contextlib.nullcontext() if opening.trust else limits, _telling(path, tell):
            _opened[key] = _open(path, signature, opening)
    return _opened[key]


@contextlib.contextmanager
def _telling(path: Path, tell: Tell | None) -> Iterator[None]:
    """While a model loads, report how many of its bytes this process has read."""
    if tell is None:
        yield
        return
    weighs, over = weight(path), threading.Event()
    begun = _read_so_far()

    def go_on() -> None:
        while not over.wait(TELL_S):
            read = _read_so_far() - begun
            # Report a total of 0 for a small model, whose progress in MB would read "0 of 1". The stage text
            # names its size.
            told = weighs if weighs > LEAST_TOLD else 0
            stage = f"reading {size(weighs)}" if read < weighs else "building its layers"
            tell(stage, min(read, told), told)

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def weight(path: Path) -> int:
    files = [path] if path.is_file() else [each for each in path.glob("variables/*") if each.is_file()]
    return sum(file.stat().st_size for file in files)


def _read_so_far() -> int:
    try:
        return int(psutil.Process().io_counters().read_chars)
    except (AttributeError, psutil.Error, OSError):
        return 0


def _open(path: Path, signature: str, opening: Opening) -> Workload:
    from tuilab.worker.models import keras_file, saved_model

    old = keras_file.saved_by_keras_2(path)
    try:
        if path.is_dir():
            return saved_model.workload(path, signature, opening)
        return keras_file.workload(path, opening)
    except (Exception, RecursionError) as error:
        if old and not opening.trust:
            name = sanitize_line(path.name, 100)
            how = (
                f"tf_keras.models.load_model('{name}').export('exported') writes a SavedModel that "
                "Keras 3 can open"
            )
            text = f"it was saved by {old}, and this Keras 3 cannot restore it; {how}"
            raise InputError(name, old, how, text) from error
        if isinstance(error, InputError):
            raise
        output = sanitize_error(error, 300)
        raise InputError(
            sanitize_line(path.name, 200), output, "a model that this TensorFlow can load"
        ) from error


def _version(path: Path) -> tuple[int, ...]:
    files = [path, path / "saved_model.pb", path / "variables" / "variables.index"]
    found = [file.stat() for file in files if file.exists()]
    return tuple(number for one in found for number in (one.st_mtime_ns, one.st_size))
