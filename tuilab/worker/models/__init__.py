"""A model's file as a workload: `.keras`, `.h5`, a SavedModel's folder. What it may do is looked at first."""

from pathlib import Path

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import Opening
from tuilab.workloads.base import Workload

_opened: dict[tuple[str, Opening, tuple[int, ...]], Workload] = {}


def open_model(file: str, opening: Opening) -> Workload:
    """The model as a workload; loaded once per worker while its file stays as it is.

    Raises InputError with one sentence for whatever is wrong with the file.
    """
    folder, _, signature = file.rpartition(":")
    if Path(file).is_dir() or not Path(folder or file).is_dir():
        folder, signature = file, ""
    key = file, opening, _version(Path(folder))
    if key not in _opened:
        _opened.clear()  # one at a time: large ones would not share the memory
        _opened[key] = _open(Path(folder), signature, opening)
    return _opened[key]


def _open(path: Path, signature: str, opening: Opening) -> Workload:
    from tuilab.worker.models import keras_file, saved_model

    try:
        if path.is_dir():
            return saved_model.workload(path, signature, opening)
        return keras_file.workload(path, opening)
    except InputError:
        raise
    except (Exception, RecursionError) as error:
        said = sanitize_line(f"{type(error).__name__}: {error}", 300)
        raise InputError(
            sanitize_line(path.name, 200), said, "a model that this TensorFlow can load"
        ) from error


def _version(path: Path) -> tuple[int, ...]:
    """Changes with the file, or with the files of the folder."""
    files = [path, path / "saved_model.pb", path / "variables" / "variables.index"]
    found = [file.stat() for file in files if file.exists()]
    return tuple(number for one in found for number in (one.st_mtime_ns, one.st_size))
