"""Opens the store of the runs: the history in the data folder, or a replacement if that is unusable."""

import contextlib
import errno
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tuilab.history import recovery
from tuilab.history.connection import Connection, connect, copy, is_damage, why_unread
from tuilab.history.lines import RunLine
from tuilab.history.runs import TAKE_PROGRAM, Runs, count_rounds
from tuilab.history.schema import VERSION, OtherVersion, prepare
from tuilab.model import events as e
from tuilab.model import held
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.files import kind_of
from tuilab.paths import data_folder, fallback_folder, private_folder

FILE = "history.db"
BESIDE = f"schema-{VERSION}"
"""Subfolder of a data folder that holds runs while the history there belongs to a newer tuilab."""


class Store(Runs):
    def __init__(self, connection: Connection, file: Path | None, messages: Sequence[str] = ()) -> None:
        super().__init__(connection, file)
        self.messages = tuple(messages)
        self.unwritable: Path | None = None
        """Path of a history that cannot be written now."""
        self.displaced = ""
        """Why runs are not in the requested history; "" if they are."""
        self.home: Path | None = None
        """The data folder that this in-memory store replaces. Workers may still be able to use the folder."""

    @classmethod
    def open(cls, folder: Path | None = None, *, to_read: bool = False) -> "Store":
        """Open or create the history in `folder`, by default the user's data folder.

        If the data folder is unusable, runs go to a temporary folder; if a given folder is unusable, they
        stay in memory. `messages` has the reason. A file that is damaged or older than the first release is
        renamed, and a new file is started. to_read: True to open even a history that cannot be written. If
        this process already has the history open, this only adds a connection.
        """
        if folder is not None:
            opened = _at(folder)
            return opened if isinstance(opened, Store) else cls.in_memory(opened, folder)
        shared = held.users(data_folder() / FILE)
        opened = _at(data_folder())
        if isinstance(opened, Store):
            if not shared:
                _take_back(opened)
            return opened
        earlier = _only_read(data_folder() / FILE)
        if to_read and earlier is not None:
            earlier.messages = (f"{opened}; it is read-only",)
            return earlier
        instead = fallback_folder()
        second = _at(instead) if instead else "there is no folder for temporary files"
        if not isinstance(second, Store):
            second = cls.in_memory(f"{opened}; {second}", data_folder())
        else:
            second.messages = (f"runs are saved in {instead} for now: {opened}", *second.messages)
        second.displaced = _short(opened, data_folder())
        if earlier is not None:
            second.unwritable = earlier.file
            earlier.close()
        return second

    @classmethod
    def in_memory(cls, message: str, home: Path | None = None) -> "Store":
        """Create a history in memory. message: why it is not on disk."""
        connection = connect(None)
        prepare(connection, Path(":memory:"))
        store = cls(connection, None, [f"runs are only in memory: {message}"])
        store.home, store.displaced = home, _short(message, home or Path())
        return store

    def again(self) -> "Store":
        """Return a store with a second connection, for another thread. A store in memory returns itself.

        If the history cannot be written, the connection is read-only.
        """
        if self.unwritable is not None and (earlier := _only_read(self.unwritable)) is not None:
            return earlier
        return self if self.file is None else Store.at(self.file)

    @property
    def has_second(self) -> bool:
        return self.file is not None or self.unwritable is not None

    def draft(self) -> "Store":
        """Return this store, or a writable copy in memory if this store is read-only."""
        if self.unwritable is None or self.file != self.unwritable:
            return self
        return Store(connect_to_read(self.file, in_memory=True), None)


def _only_read(file: Path) -> Store | None:
    """Open a history that can only be read, with the runs that were saved elsewhere meanwhile; None on
    failure.
    """
    instead = fallback_folder()
    try:
        if not file.is_file():
            return None
        since = instead is not None and (instead / FILE).is_file()
        store = Store(connect_to_read(file, in_memory=since), file)
        if instead is not None and since:
            _take_from(instead, store)
        store.connection.execute("PRAGMA query_only = ON")
    except (OSError, sqlite3.Error, OtherVersion, InputError):
        return None
    store.unwritable = file
    return store


def connect_to_read(file: Path, in_memory: bool = False) -> Connection:
    """Return a connection that reads all data of a history that cannot be written.

    in_memory: connect to a copy that may be changed. Raises sqlite3.Error, OSError and OtherVersion.
    """
    wal = file.with_name(file.name + "-wal")
    if wal.exists() and wal.stat().st_size:
        connection = _in_memory(file)
    else:
        connection = connect(file, "immutable")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            raise OtherVersion(file, version)
        if in_memory:
            with contextlib.closing(connection) as there:
                connection = _copied(there)
        connection.execute("SELECT run FROM runs LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _in_memory(file: Path) -> Connection:
    """Copy a history with its log into memory, because reading the log in place requires a lock or a new
    file.
    """
    try:
        with contextlib.closing(connect(file, "rw", alone=True)) as there:
            return _copied(there)
    except sqlite3.Error:
        with tempfile.TemporaryDirectory(prefix="tuilab-") as folder:
            beside = Path(folder) / file.name
            recovery.copy_file(file, beside)
            recovery.copy_file(file.with_name(file.name + "-wal"), beside.with_name(beside.name + "-wal"))
            with contextlib.closing(connect(beside)) as there:
                return _copied(there)


def _copied(connection: Connection) -> Connection:
    memory = connect(None)
    try:
        copy(connection, memory)
    except BaseException:
        memory.close()
        raise
    return memory


def _at(folder: Path) -> Store | str:
    """Return the store in that folder, or the reason why there is none."""
    file = folder / FILE
    if kind := kind_of(file):
        return f"{file} cannot be opened: it is {kind}"
    try:
        _usable(private_folder(folder), file)
    except OSError as error:
        if os.path.isfile(file):
            return f"{file} cannot be written ({recovery.why_unwritable(file, error)})"
        return f"{folder} cannot be written ({error.strerror})"
    found, shared = held.identity(file), held.users(file)
    messages = [] if shared else recovery.notices(file)
    try:
        store = Store.at(file)
    except OtherVersion as error:
        if error.older and not shared:
            return _start_new(file, found, "was from before the first release", recovery.OLDER)
        beside = _at(folder / BESIDE) if folder.name != BESIDE else str(error)
        if isinstance(beside, Store):
            beside.messages = (f"runs are saved in {folder / BESIDE} for now: {error}", *beside.messages)
            beside.displaced = _short(str(error), folder)
        return beside
    except sqlite3.Error as error:
        if not is_damage(error):
            return f"{file} cannot be opened ({recovery.why_unwritable(file, error)})"
        if shared:
            return f"{file} is damaged ({error}); it stays in place until the lab that uses it renames it"
        return _after_damage(file, found, error)
    store.messages += tuple(messages)
    return store


def _short(words: str, folder: Path) -> str:
    """Return the first of several reasons in a message, without paths."""
    first = words.partition("; ")[0].replace(str(folder / FILE), "the history")
    return first.replace(str(folder), "the data folder")


def _usable(folder: Path, file: Path) -> None:
    """Raise OSError if the file cannot be written or created. Does not open the file."""
    place, need = (file, os.W_OK) if file.exists() else (folder, os.W_OK | os.X_OK)
    if os.access(place, need):
        return
    read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    number = errno.EROFS if read_only else errno.EACCES
    raise OSError(number, os.strerror(number), str(place))


def _after_damage(file: Path, found: held.Identity | None, fault: sqlite3.Error) -> Store | str:
    """Reopen the file if it is undamaged, or else replace it with a new history. Return the store, or the
    reason why neither was possible.

    A file that is temporarily unreadable is left unchanged.
    """
    if why := why_unread(file):
        return f"{file} is currently unreadable ({why}); it is left unchanged"
    try:
        well = recovery.sound(file)
        if well is None:
            return f"{file} is currently unreadable ({fault}); it is left unchanged"
        if well:
            return Store.at(file)  # the error was temporary
    except sqlite3.Error as again:
        fault = again
    return _start_new(file, found, f"was damaged ({fault})", recovery.DAMAGED)


def _start_new(file: Path, found: held.Identity | None, what: str, mark: str) -> Store | str:
    """Add `mark` to the name of the history's file, and start a new history. Return the new store, or the
    reason for a failure.

    found: identity of the file to rename. If the path has another file by now, another program has already
    renamed the old one.
    """
    with recovery.alone_in(file):
        if held.identity(file) != found:
            return _at(file.parent)
        try:
            aside = recovery.set_aside(file, mark)
        except OSError as error:
            return f"{file} {what} and cannot be renamed ({error.strerror})"
        try:
            store = Store.at(file)
        except sqlite3.Error as error:
            return f"{file} {what} and was renamed to {aside.name}; a new history cannot be created ({error})"
    store.messages += (f"the history {what}; it was renamed to {aside.name}",)
    return store


def other_folders(data: Path) -> list[Path]:
    """Return the folders that hold runs and spooled runs while the history in the folder `data` cannot be
    used.
    """
    instead = fallback_folder() if data == data_folder() else None
    return [data / BESIDE, *([instead] if instead is not None else [])]


def _take_back(store: Store) -> None:
    """Move the runs that were saved elsewhere while the history was unusable into this history."""
    assert store.file is not None
    for other in other_folders(store.file.parent):
        if (other / FILE).exists():
            with contextlib.suppress(sqlite3.Error, OSError, OtherVersion, *UNDECODED):
                _take_from(private_folder(other), store, gone=True)


def _take_from(folder: Path, store: Store, gone: bool = False) -> None:
    """Copy the runs of another history into a store. gone: True to delete the runs from the other history."""
    other = Store.at(folder / FILE)
    try:
        for line in other.runs(limit=1_000_000):
            _copy(line, other, store)
            # An unfinished run may still continue, so it is copied again later.
            if gone and line.status is not None:
                other.connection.execute("DELETE FROM runs WHERE run = ?", (line.run,))
        store.connection.executemany(
            TAKE_PROGRAM, other.connection.execute("SELECT program, at, command, page FROM programs")
        )
        if gone:
            other.connection.execute("DELETE FROM programs")
    finally:
        other.close()


def _copy(line: RunLine, other: Store, store: Store) -> None:
    lines = [raw for _, raw in other.raw(line.run)]
    started = next((e.decode(raw) for raw in lines if e.kind_of(raw) == b"run-started"), None)
    there = store.line(line.run)
    if isinstance(started, e.RunStarted) and count_rounds(lines) >= (there.rounds if there else 0):
        store.replace(started, lines)
        if line.status is not None:
            store.conclude(line.run, line.status, line.answer)
        store.note(line.run, line.note)
        store.pin(line.run, line.pinned)
        for tag in line.tags:
            store.tag(line.run, tag)
