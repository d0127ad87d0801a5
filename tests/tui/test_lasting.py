"""What is written to the terminal."""

import io

from tuilab.tui.lasting import PAINT, Forgiving


def test_a_paint_that_is_the_last_one_again_is_not_sent():
    terminal = Forgiving()
    terminal.file = io.StringIO()
    one, other = "\x1b[1;1H" + "a" * PAINT, "\x1b[1;1H" + "b" * PAINT
    for text in (one, one, other, one, "\a", "\a"):
        assert terminal.write(text) == len(text)
    assert terminal.file.getvalue() == one + other + one + "\a\a" and terminal.sent == 3 * len(one) + 2
