"""A watched program as a screen shows it, wherever it runs."""

from collections.abc import Callable

from tuilab.model.program import Caught, Page, ProcessRow
from tuilab.report.program import page_text


class ShownProgram:
    """What can be seen and asked of a program. One that has ended has a page, and does nothing any more.

    changed, caught, wrote: to be set; called from a thread when there is something new to show, when a
    function was caught or could not be, and with what the program writes.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.steps: dict[int, float] = {}
        """Seconds of the latest steps, by their numbers."""
        self.changed: Callable[[], None] = lambda: None
        self.caught: Callable[[Caught], None] = lambda told: None
        self.wrote: Callable[[bytes], None] = lambda data: None

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return False

    @property
    def catches(self) -> bool:
        """Whether a step of it can be caught from here."""
        return self.running

    @property
    def now(self) -> Page:
        """Its page, with how long it has run."""
        return self.page

    @property
    def rows(self) -> tuple[ProcessRow, ...]:
        """All that can be chosen: its processes."""
        return self.page.processes

    @property
    def said(self) -> str:
        """All that is said of it, as text."""
        return page_text(self.page)

    def choose(self, index: int) -> None:
        """Show the page of that row."""

    def output(self, lines: int) -> list[str]:
        """Return the last lines that it has written, as they stand in its terminal."""
        return []

    def resize(self, columns: int, rows: int) -> None:
        """Give its terminal that size."""

    def catch(self, number: int | None = None) -> str:
        """Have a tf.function of it written as a folder at its next call; returns the function's name.

        number: its own; the one that stands for a step where it is None. What becomes of it is told to
        `caught`. Raises LookupError if there is none, or nobody to ask, OSError if there is no place.
        """
        raise LookupError("the program has ended")

    def type(self, text: str) -> None:
        """Give that to its standard input."""

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        self.type("\x03")

    def signal(self, number: int) -> None:
        """Send it a signal."""
