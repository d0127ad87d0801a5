"""The messages in the corner of the main screen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from textual.screen import Screen

from tuilab.model.errors import InputError
from tuilab.model.sanitize import sanitize_block
from tuilab.tui.keys import spoken

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

LONGEST_SAID, LONGEST_TROUBLE = 600, 140
"""Maximum number of characters of a message, and of a warning. Longer texts would cover the screen."""
LASTS_S = 3600.0
"""Seconds after which a progress message disappears, even if nobody removes the message."""


class Corner:
    """Shows short messages in the corner. A long warning is shortened; the log contains the full text."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self.log: Callable[[str, Literal["warning", "error"]], None] = lambda text, level: None
        """Writes to the lab's log. Does nothing before the lab exists."""
        self._progress = ""
        """The progress message on the screen; "" if there is none."""

    def warn(self, text: str) -> None:
        self.log(text, "warning")
        self.say(text, "warning")

    def say(self, text: str, tone: "SeverityLevel" = "information") -> None:
        self._show(text, tone, 4 if tone == "information" else 10)

    def progress(self, text: str) -> None:
        """Replace the progress message. With "", only remove it."""
        self._screen.app.withdraw(self._progress)  # type: ignore[attr-defined]
        self._progress = self._show(text, "information", LASTS_S) if text else ""

    def _show(self, text: str, tone: "SeverityLevel", seconds: float) -> str:
        """Show a message for some seconds. Returns the text as shown."""
        words = sanitize_block(spoken(self._screen, text), LONGEST_SAID)
        if tone != "information" and len(words) > LONGEST_TROUBLE:
            self.log(words, "error" if tone == "error" else "warning")
            cut = words[:LONGEST_TROUBLE].rpartition(" ")[0]
            words = f"{cut} … " + spoken(self._screen, "The log ({view-log}) has the full text.")
        self._screen.notify(words, severity=tone, markup=False, timeout=seconds)
        return words

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show an InputError to the user instead of raising it."""
        try:
            yield
        except InputError as error:
            self.say(str(error), "error")
