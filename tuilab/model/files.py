"""Files that a person names: read only where they are files, and written so that nothing is lost half way."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_line

PRIVATE = 0o600
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def shown(path: Path | str) -> str:
    """A path as it may be printed."""
    return sanitize_line(str(path), 300)


def open_regular(path: Path, most: int | None = None) -> BinaryIO:
    """The file to read, at once or not at all: a pipe or a device is not waited for.

    most: bytes that it may have. Raises InputError where it is no regular file, larger, or cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise InputError(shown(path), _why(error), "a file that can be read") from None
    found = os.fstat(fd)
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG and (most is None or found.st_size <= most):
        return os.fdopen(fd, "rb")
    os.close(fd)
    if kind != stat.S_IFREG:
        raise InputError(shown(path), _KINDS.get(kind, "something else"), "a regular file")
    raise InputError(shown(path), f"{found.st_size:,} bytes", f"a file of at most {most:,} bytes")


def read_regular(path: Path, most: int) -> bytes:
    """All of a regular file of at most so many bytes. Raises InputError."""
    with open_regular(path, most) as stream:
        try:
            data = stream.read(most + 1)
        except OSError as error:
            raise InputError(shown(path), _why(error), "a file that can be read") from None
    if len(data) > most:  # it grows
        raise InputError(shown(path), f"more than {most:,} bytes", f"a file of at most {most:,} bytes")
    return data


def _why(error: OSError | ValueError) -> str:
    # No file's name has a NUL or a lone surrogate in it.
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


@contextmanager
def written(path: Path) -> Iterator[BinaryIO]:
    """A file that its owner alone can read, under that name once it is whole.

    It is written beside and renamed, so that a full disk leaves what was there. What is no regular file, such
    as /dev/stdout, is written as it is. Raises OSError, which names the file.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
            with path.open("wb", buffering=0) as stream:
                yield stream
            return
        target = path.resolve()
        beside = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
        try:
            with os.fdopen(fd, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), shown(path)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), shown(path)) from None


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write text as `written` does. Raises OSError."""
    with written(path) as stream:
        for part in parts:
            stream.write(part.encode("utf-8", "replace"))
