"""Errors that the user can fix: each names the place, the value and what would be right."""

import msgspec

from tuilab.model.sanitize import sanitize_line

UNDECODED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Exceptions that a decoder raises for invalid bytes: bad JSON, bad text, nested too deeply."""
LONGEST = 20_000
CLOSED = "own code closed the descriptors that the worker speaks through"
"""A worker's last words."""


class InputError(ValueError):
    """Bad input from a user or a file. The command line exits with code 2."""

    def __init__(self, where: str, value: object, expected: str, words: str = "") -> None:
        """words: the problem, instead of the value and the expectation."""
        self.where = where
        self.value = value
        self.expected = expected
        # The place may be a file name or key that someone else chose.
        super().__init__(sanitize_line(f"{where}: {words or f'got {value!r}; expected {expected}'}", LONGEST))


class CannotBeReadError(InputError):
    """A file that cannot be read at the moment, so its content is not known."""


class WorkerError(RuntimeError):
    """The worker could not start, died, or broke the protocol. Exit code 3."""
