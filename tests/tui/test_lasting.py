import io
from collections.abc import Iterator

import pytest
from textual.notifications import Notification

from tuilab.tui.lasting import PAINT, Forgiving, LastingApp


def test_a_paint_equal_to_the_last_is_not_sent():
    terminal = Forgiving()
    terminal.file = io.StringIO()
    one, other = "\x1b[1;1H" + "a" * PAINT, "\x1b[1;1H" + "b" * PAINT
    for text in (one, one, other, one, "\a", "\a"):
        assert terminal.write(text) == len(text)
    assert terminal.file.getvalue() == one + other + one + "\a\a" and terminal.sent == 3 * len(one) + 2


async def test_a_message_that_expires_during_a_key_press_changes_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
):
    """Textual removes expired notifications on each access, even while other code iterates over them."""
    looks: Iterator[bool] = iter((False, False))
    app = LastingApp()
    async with app.run_test() as pilot:
        app.notify("trouble", severity="warning", timeout=60)
        app.notify("words", timeout=60)
        await pilot.pause()
        monkeypatch.setattr(Notification, "has_expired", property(lambda one: next(looks, True)))
        await pilot.press("z")
    assert not list(looks)


async def test_a_shown_message_is_not_repeated_and_errors_vanish_with_the_next_key():
    app = LastingApp()
    async with app.run_test() as pilot:
        for words in ("nothing runs", "nothing runs", "another"):
            app.notify(words, timeout=60)
        app.notify("trouble", severity="warning", timeout=60)
        await pilot.pause()
        assert [said.message for said in app._notifications] == ["nothing runs", "another", "trouble"]
        await pilot.press("z")
        assert [said.message for said in app._notifications] == ["nothing runs", "another"]
