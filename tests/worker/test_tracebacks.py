"""What an error of a person's own code says, whatever its text does."""

import sys

from tuilab.worker.tracebacks import cause, told


class Mute(Exception):
    """An error that fails to say what it is."""

    def __str__(self) -> str:
        raise KeyError("no text")


def test_an_error_whose_text_raises_keeps_its_traceback() -> None:
    try:
        raise Mute
    except Mute as error:
        assert "its text raises KeyError" in cause(error)
        assert "Mute" in told(error) and "raise Mute" in told(error)


def test_endless_recursion_is_told_in_few_lines() -> None:
    def deeper() -> None:
        deeper()

    try:
        deeper()
    except RecursionError as error:
        assert "maximum recursion depth" in cause(error)
        assert len(told(error).splitlines()) < sys.getrecursionlimit() / 10
