"""Errors that the user can fix. Each message names the place, the value and what was expected."""

import msgspec

from tuilab.model.sanitize import sanitize_line

UNDECODED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions that a decoder raises for invalid input: bad JSON or text, or too deep nesting."""
LONGEST = 20_000
CLOSED = "your code closed the worker's communication channel"
"""The error message of a worker whose user code closed the connection to the lab."""


class InputError(ValueError):
    """Bad input from a user or a file. The command line exits with code 2."""

    def __init__(self, where: str, value: object, expected: str, words: str = "") -> None:
        """words: replaces the value and the expectation in the message."""
        self.where = where
        self.value = value
        self.expected = expected
        # Sanitize the whole message: a file name, key or value may come from an untrusted source.
        super().__init__(sanitize_line(f"{where}: {words or f'got {value!r}; expected {expected}'}", LONGEST))


class CannotBeReadError(InputError):
    """Raised for a file that cannot be read at the moment, so its content is unknown."""


class WorkerError(RuntimeError):
    """Raised if the worker could not start, died, or broke the protocol. Exit code 3."""


def sqlite_code(error: Exception) -> int:
    """Return SQLite's primary result code, such as `sqlite3.SQLITE_FULL`; 0 if the error has none."""
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
