"""Errors in user code are described correctly, even if producing their text fails."""

import sys

from tuilab.worker import tracebacks
from tuilab.worker.tracebacks import cause, lacks_memory, user_traceback


class Mute(Exception):
    def __str__(self) -> str:
        raise KeyError("no text")


def test_an_error_whose_text_raises_keeps_its_traceback() -> None:
    try:
        raise Mute
    except Mute as error:
        assert "its text raises KeyError" in cause(error)
        assert "Mute" in user_traceback(error) and "raise Mute" in user_traceback(error)


def test_endless_recursion_is_reported_in_few_lines() -> None:
    def deeper() -> None:
        deeper()

    try:
        deeper()
    except RecursionError as error:
        assert "maximum recursion depth" in cause(error)
        assert len(user_traceback(error).splitlines()) < sys.getrecursionlimit() / 10


def test_errors_in_traced_code_show_the_own_lines_named_by_tensorflow(monkeypatch) -> None:
    monkeypatch.setattr(tracebacks, "_own", {"/home/ada"})
    text = (
        'in user code:\n\n    File "/home/ada/mine.py", line 12, in step  *\n        tf.reshape(x, (7, 7))\n\n'
        "    ValueError: Cannot reshape"
    )
    try:
        raise ValueError(text)
    except ValueError as error:
        shown = user_traceback(error)
        assert cause(error) == "Cannot reshape (mine.py, line 12, in step)"
    assert "mine.py" in shown and "test_tracebacks" not in shown and "Traceback" not in shown.splitlines()[-1]
    assert shown.strip().splitlines()[-1].strip() == "ValueError: Cannot reshape"


def test_quoted_frames_of_the_lab_are_left_out(monkeypatch) -> None:
    monkeypatch.setattr(tracebacks, "_own", {"/home/ada"})
    quoted = f'File "{tracebacks.PACKAGE}/worker/main.py", line 66, in main\nFile "/home/ada/mine.py", line 5, in f'
    try:
        raise ValueError(f'No shape\n\nStack trace:\nFile "<frozen runpy>", line 88, in _run_code\n{quoted}')
    except ValueError as error:
        shown = user_traceback(error)
    assert "mine.py" in shown and "worker/main.py" not in shown and "frozen" not in shown


def test_a_copy_without_room_lacks_memory_like_an_op(tf) -> None:
    copying = (
        "Failed copying input tensor from CPU:0 to GPU:0 in order to run Mul: Dst tensor is not initialized."
    )
    assert lacks_memory(tf, tf.errors.InternalError(None, None, copying))
    assert lacks_memory(tf, tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"))
    assert not lacks_memory(tf, tf.errors.InternalError(None, None, "Graph execution error"))
