from types import SimpleNamespace

import pytest

from tuilab.observer.tuilab_observer.graphs import own_line

FRAMES = [
    SimpleNamespace(filename=file, lineno=line)
    for file, line in (
        ("/home/me/train.py", 3),
        ("/home/me/layers.py", 7),
        ("/env/lib/python3.11/site-packages/keras/src/layers/layer.py", 9),
    )
]


class Trace(list[SimpleNamespace]):
    def __init__(self, frames: list[SimpleNamespace], of_user: list[SimpleNamespace]) -> None:
        super().__init__(frames)
        self.of_user = of_user

    def get_user_frames(self) -> list[SimpleNamespace]:
        return self.of_user


@pytest.mark.parametrize("of_user", [FRAMES, FRAMES[:2], FRAMES[2:], []])
def test_the_line_of_an_op_is_the_innermost_of_the_users(of_user: list[SimpleNamespace]) -> None:
    """TensorFlow mistakes files in a user's folder `tensorflow/python` for its own."""
    assert own_line(SimpleNamespace(traceback=Trace(FRAMES, of_user))) == ["/home/me/layers.py", 7]


def test_an_op_of_a_library_has_no_line() -> None:
    assert own_line(SimpleNamespace(traceback=Trace(FRAMES[2:], []))) is None
    assert own_line(SimpleNamespace()) is None
