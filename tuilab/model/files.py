"""Files that a user names: read only if they are files, and written so that nothing is lost half way."""

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
    """Describe what is there in place of a regular file: `a pipe`; "" for one, and where nothing is there."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError):
        return ""
    return "" if kind == stat.S_IFREG else _KINDS.get(kind, "something else")


def expanded(words: Path | str) -> Path:
    """Return the path that a user named, `~` for a home; as it is if that home is not known."""
    return Path(os.path.expanduser(words))


_READ = "a file that can be read"


def shown(path: Path | str) -> str:
    """Return a path as it may be printed."""
    return sanitize_line(str(path), 300)


def open_regular(path: Path, most: int | None = None) -> BinaryIO:
    """Return the file to read, at once or not at all: a pipe or a device is not waited for.

    most: bytes that it may have. Raises InputError if it is no regular file, larger, or cannot be read.
    """
    if is_held(path):
        raise InputError(shown(path), "a history that is open", "another file")
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        raise CannotBeReadError(shown(path), _why(error), _READ, _words(error)) from None
    except ValueError as error:
        raise InputError(shown(path), _why(error), _READ, _words(error)) from None
    found = os.fstat(fd)
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFREG and (most is None or found.st_size <= most):
        return os.fdopen(fd, "rb")
    os.close(fd)
    if kind != stat.S_IFREG:
        raise InputError(shown(path), _KINDS.get(kind, "something else"), "a regular file")
    raise InputError(shown(path), f"{found.st_size:,} bytes", f"a file of at most {most:,} bytes")


def read_regular(path: Path, most: int) -> bytes:
    """Return all of a regular file of at most that many bytes. Raises InputError."""
    with open_regular(path, most) as stream:
        try:
            data = stream.read(most + 1)
        except OSError as error:
            raise CannotBeReadError(shown(path), _why(error), _READ, _words(error)) from None
    if len(data) > most:  # it grows
        raise InputError(shown(path), f"more than {most:,} bytes", f"a file of at most {most:,} bytes")
    return data


def _words(error: OSError | ValueError) -> str:
    missing = isinstance(error, FileNotFoundError)
    return "there is no such file" if missing else f"cannot be read ({_why(error)})"


def _why(error: OSError | ValueError) -> str:
    # No file's name has a NUL or a lone surrogate in it.
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


@contextmanager
def written(path: Path, mode: int = PRIVATE) -> Iterator[BinaryIO]:
    """Open a file that has its name once it is whole; the one way in which this program writes a file.

    It is written next to, synced and renamed, so that a full disk, a limit or a kill leaves what was there. A
    file that was there keeps its owner and its mode; a new one has `mode`, less what the umask forbids. What
    is no regular file, such as /dev/stdout, is written as it is. A database is never replaced: nothing that
    this program writes so is one, and a history may be all that somebody has measured. What a writer that
    was killed left alongside the file is taken away. Raises OSError, which names the file.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
            with path.open("wb", buffering=0) as stream:
                yield stream
            return
        target = _resolved(path)
        before = target.stat() if target.exists() else None
        if before is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "may not be written", str(path))
        if before is not None and _is_database(target):
            raise FileExistsError(errno.EEXIST, "is a database, such as a history", str(path))
        _remove_left(target)
        fd, beside = _begun(target, mode)
        try:
            with os.fdopen(fd, "wb") as stream:
                if before is not None:
                    _as_before(fd, before)
                yield stream
                stream.flush()
                os.fsync(fd)
                os.replace(beside, target)  # while it is locked
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        _sync_folder(target.parent)
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), shown(path)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), shown(path)) from None


def _resolved(path: Path) -> Path:
    """Follow links, as the kernel of most systems does: not one that somebody else put where anybody may.

    Anyone who waits for a name among the temporary files would have another file written in its place.
    """
    for link in (path.absolute(), *path.absolute().parents):
        for _ in range(_MOST_LINKS):
            if not link.is_symlink():
                break
            found, folder = link.lstat(), link.parent.stat()
            shared = folder.st_mode & _SHARED == _SHARED
            if shared and found.st_uid not in (os.geteuid(), folder.st_uid):
                raise PermissionError(errno.EACCES, "is a link that somebody else made", str(path))
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
"""How the name of a file ends that is not whole yet."""


def _beginning(target: Path) -> str:
    # Fifty characters are two hundred bytes at most, of the 255 that a name may have.
    return f".{target.name[:50]}."


def _begun(target: Path, mode: int) -> tuple[int, Path]:
    """A new file next to that one, which its writer holds locked, so that others know that it lives."""
    while True:
        beside = target.with_name(f"{_beginning(target)}{os.urandom(4).hex()}.part")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        with contextlib.suppress(OSError):  # a file system may have no locks: there nobody removes it
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.lexists(beside):
            return fd, beside
        os.close(fd)  # it was taken away before it was locked


def _remove_left(target: Path) -> None:
    """Take away what writers of this file left that have ended: nobody holds it locked."""
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
    """Give a file the owner and the mode of the one whose place it takes."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)  # which clears set-user-id: so before the mode
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too, where the system can; the file has it in any case."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_bytes(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """Write a file as `written` does. Raises OSError."""
    with written(path, mode) as stream:
        stream.write(data)


def write_text(path: Path, parts: Iterable[str], mode: int = PRIVATE) -> None:
    """Write text as `written` does. Raises OSError."""
    with written(path, mode) as stream:
        for part in parts:
            stream.write(part.encode("utf-8", "replace"))
