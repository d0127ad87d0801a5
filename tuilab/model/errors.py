"""Errors that a user caused and can mend: each names the place, the value and what would be right."""

import msgspec

from tuilab.model.sanitize import sanitize_line

UNDECODED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises for bytes that are not what they should be: no JSON, no text, nested too deeply."""
LONGEST = 20_000
CLOSED = "own code closed the descriptors that the worker speaks through"
"""A worker's last words, where it can still say them."""


class InputError(ValueError):
    """Bad input from a user or a file. The command line turns it into exit code 2."""

    def __init__(self, where: str, value: object, expected: str, words: str = "") -> None:
        """words: what is wrong, in place of the value and of what is expected."""
        self.where = where
        self.value = value
        self.expected = expected
        # A place may be a file's name or a key in it, which somebody else chose.
        super().__init__(sanitize_line(f"{where}: {words or f'got {value!r}; expected {expected}'}", LONGEST))


class CannotBeReadError(InputError):
    """A file that the system does not give now, so that nothing is known of what it holds."""


class WorkerError(RuntimeError):
    """The worker could not start, died or broke the protocol. Exit code 3."""
