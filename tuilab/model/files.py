"""Reads files that the user names, but no pipes or devices, and writes files atomically."""

import contextlib
import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from tuilab.model.errors import CannotBeReadError, InputError
from tuilab.model.held import is_held
from tuilab.model.sanitize import sanitize_line

PRIVATE, SHARED = 0o600, 0o666
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def kind_of(path: Path) -> str:
    """Return the kind of an entry that is not a regular file, such as `a pipe`; "" for a regular or missing
    file.
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return ""
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "something else")


def expanded(words: Path | str) -> Path:
    """Return the path with `~` expanded, or unchanged if the home folder is unknown."""
    return Path(os.path.expanduser(words))


_READ = "a readable file"


def printable_path(path: Path | str) -> str:
    return sanitize_line(str(path), 300)


def open_regular(path: Path, most: int | None = None) -> BinaryIO:
    """Open a file for reading, without blocking on pipes or devices.

    most: maximum size in bytes. Raises InputError if the file is not regular, too large, or unreadable.
    """
    if is_held(path):
        raise InputError(printable_path(path), "an open history", "another file")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise CannotBeReadError(printable_path(path), _why(error), _READ, _words(error)) from None
    except ValueError as error:
        raise InputError(printable_path(path), _why(error), _READ, _words(error)) from None
    found = os.fstat(fd)
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG and (most is None or found.st_size <= most):
        return os.fdopen(fd, "rb")
    os.close(fd)
    if kind != stat.S_IFREG:
        raise InputError(printable_path(path), _KINDS.get(kind, "something else"), "a regular file")
    raise InputError(printable_path(path), f"{found.st_size:,} bytes", f"a file of at most {most:,} bytes")


def read_regular(path: Path, most: int) -> bytes:
    """Return the content of a regular file of at most `most` bytes. Raises InputError."""
    with open_regular(path, most) as stream:
        try:
            data = stream.read(most + 1)
        except OSError as error:
            raise CannotBeReadError(printable_path(path), _why(error), _READ, _words(error)) from None
    if len(data) > most:  # the file may have grown meanwhile
        raise InputError(
            printable_path(path), f"more than {most:,} bytes", f"a file of at most {most:,} bytes"
        )
    return data


def _words(error: OSError | ValueError) -> str:
    missing = isinstance(error, FileNotFoundError)
    return "there is no such file" if missing else f"cannot be read ({_why(error)})"


def _why(error: OSError | ValueError) -> str:
    # A ValueError means that the file name contains a NUL or a lone surrogate.
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


@contextmanager
def open_atomic(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """Open a file for atomic writing. Every file that tuilab writes is opened here.

    The data goes to a temporary file in the same folder, is synced, and then renamed, so the old file
    survives a full disk, an exceeded quota or a killed process. An existing file keeps its owner and mode; a
    new file gets `mode` minus the umask. Special files such as /dev/stdout are written directly. A database
    is never replaced, because it may be the history with all of a user's measurements. Temporary files whose
    writers were killed are removed. Raises OSError with the file's name.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
            with path.open("wb", buffering=0) as stream:
                yield stream
            return
        target = _resolve(path)
        before = target.stat() if target.exists() else None
        if before is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "is not writable", str(path))
        if before is not None and _is_database(target):
            raise FileExistsError(errno.EEXIST, "is a database, such as a history", str(path))
        _remove_left(target)
        fd, beside = _create_temporary(target, mode)
        try:
            with os.fdopen(fd, "wb") as stream:
                if before is not None:
                    _as_before(fd, before)
                yield stream
                stream.flush()
                os.fsync(fd)
                os.replace(beside, target)  # rename while the lock is held
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        _sync_folder(target.parent)
    except ValueError as error:  # the file name contains a NUL or a lone surrogate
        raise OSError(errno.EINVAL, str(error), printable_path(path)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), printable_path(path)) from None


def _resolve(path: Path) -> Path:
    """Follow symbolic links, except those of another user in a shared folder.

    Otherwise an attacker could guess a temporary name and redirect the write.
    """
    for link in (path.absolute(), *path.absolute().parents):
        for _ in range(_MOST_LINKS):
            if not link.is_symlink():
                break
            found, folder = link.lstat(), link.parent.stat()
            shared = folder.st_mode & _SHARED == _SHARED
            if shared and found.st_uid not in (os.geteuid(), folder.st_uid):
                raise PermissionError(errno.EACCES, "is a link created by another user", str(path))
            link = link.parent / os.readlink(link)
        else:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return path.resolve()


_SHARED, _MOST_LINKS = stat.S_ISVTX | stat.S_IWOTH, 40


def _is_database(file: Path) -> bool:
    if is_held(file):
        return True
    with contextlib.suppress(OSError, InputError), open_regular(file) as stream:
        return stream.read(len(_DATABASE)) == _DATABASE
    return False


_DATABASE = b"SQLite format 3\0"
_LEFT = re.compile(r"[0-9a-f]{8}\.part")


def _beginning(target: Path) -> str:
    # Fifty characters take at most 200 bytes in UTF-8, and a file name may have 255.
    return f".{target.name[:50]}."


def _create_temporary(target: Path, mode: int) -> tuple[int, Path]:
    """Create a temporary file next to the target, and lock it to show that its writer is alive."""
    while True:
        beside = target.with_name(f"{_beginning(target)}{os.urandom(4).hex()}.part")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        # If the file system has no locks, no other process can lock the file either, so none deletes it.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.lexists(beside):
            return fd, beside
        os.close(fd)  # another process removed the file before it was locked


def _remove_left(target: Path) -> None:
    """Remove temporary files of this target whose writers have ended.

    A writer locks its file until it ends, so an unlocked file has no writer.
    """
    begins, left = _beginning(target), []
    with contextlib.suppress(OSError), os.scandir(target.parent) as found:
        left = [e for e in found if e.name.startswith(begins) and _LEFT.fullmatch(e.name, len(begins))]
    for entry in left:
        with contextlib.suppress(OSError):
            fd = os.open(entry.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
            finally:
                os.close(fd)


def _as_before(fd: int, before: os.stat_result) -> None:
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)  # before fchmod, because fchown clears set-user-id
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    """Sync the folder, so that a new file name reaches the disk, if the system supports it."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_bytes(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    with open_atomic(path, mode) as stream:
        stream.write(data)


def write_text(path: Path, parts: Iterable[str], mode: int = PRIVATE) -> None:
    with open_atomic(path, mode) as stream:
        for part in parts:
            stream.write(part.encode("utf-8", "replace"))


def indented(value: object, indent: int = 2) -> str:
    """Return the value as JSON for people and version control."""
    return msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
