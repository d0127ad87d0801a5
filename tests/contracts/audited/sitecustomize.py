"""Logs each opening of a history file, by SQLite or by other code. PYTHONPATH makes each Python process
of a test load this file.
"""

import os
import sys
import traceback

LOG = os.environ.get("TUILAB_TESTS_AUDIT", "")
NAMES = ("history.db", "history.db-wal", "history.db-shm")


def note(event: str, args: tuple[object, ...]) -> None:
    if (
        event not in ("open", "sqlite3.connect")
        or not args
        or not isinstance(args[0], str | bytes | os.PathLike)
    ):
        return
    name = os.path.basename(os.fsdecode(args[0])).partition("?")[0]
    if name not in NAMES:
        return
    calls = " < ".join(f"{c.filename}:{c.lineno}" for c in reversed(traceback.extract_stack(limit=8)[:-1]))
    line = f"{event}\t{os.getpid()}\t{name}\t{calls}\n".encode()
    fd = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, line)
    os.close(fd)


if LOG:
    sys.addaudithook(note)
