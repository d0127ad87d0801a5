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
"""Maximum characters of a message, and of a warning. Longer texts would cover the screen."""


class Corner:
    """Shows short messages. The log contains the full text of a long warning."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self.log: Callable[[str, Literal["warning", "error"]], None] = lambda text, level: None
        """Writes to the lab's log; does nothing until the lab exists."""

    def warn(self, text: str) -> None:
        self.log(text, "warning")
        self.say(text, "warning")

    def say(self, text: str, tone: "SeverityLevel" = "information") -> None:
        """Show a short message. A warning stays until the user presses a key."""
        seconds = 4 if tone == "information" else 10
        words = sanitize_block(spoken(self._screen, text), LONGEST_SAID)
        if tone != "information" and len(words) > LONGEST_TROUBLE:
            self.log(words, "error" if tone == "error" else "warning")
            cut = words[:LONGEST_TROUBLE].rpartition(" ")[0]
            words = f"{cut} … " + spoken(self._screen, "The log ({view-log}) has the full text.")
        self._screen.notify(words, severity=tone, markup=False, timeout=seconds)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show an InputError as a message to the user instead of raising it."""
        try:
            yield
        except InputError as error:
            self.say(str(error), "error")
