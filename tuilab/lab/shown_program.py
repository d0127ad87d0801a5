"""A watched program as a screen shows it, wherever it runs."""

from collections.abc import Callable

from tuilab.model.program import Bottleneck, Caught, Page, ProcessRow, Tried
from tuilab.report.program import page_text


class ShownProgram:
    """What a screen can show and request. An ended program has a page and ignores requests.

    changed, caught, wrote: callbacks, called from a thread when there is something new, when a capture
    succeeded or failed, and with the program's output.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.steps: dict[int, float] = {}
        """Seconds of the latest steps, by number."""
        self.changed: Callable[[], None] = lambda: None
        self.caught: Callable[[Caught], None] = lambda told: None
        self.wrote: Callable[[bytes], None] = lambda data: None

    @property
    def running(self) -> bool:
        """True between its start and end."""
        return False

    @property
    def catches(self) -> bool:
        """True if a step can be captured from here."""
        return self.running

    @property
    def now(self) -> Page:
        """Its page, with the elapsed time."""
        return self.page

    @property
    def rows(self) -> tuple[ProcessRow, ...]:
        """The processes to choose from."""
        return self.page.processes

    @property
    def said(self) -> str:
        """The page as text."""
        return page_text(self.page)

    def choose(self, index: int) -> None:
        """Show the page of that row."""

    def output(self, lines: int) -> list[str]:
        """Return its last output lines as in its terminal."""
        return []

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of its terminal."""

    def catch(self, number: int | None = None) -> str:
        """Capture a function as a folder at its next call; returns the function's name.

        number: of a tf.function; None for the step. `caught` gets the outcome. Raises
        LookupError if there is none or nobody to ask, OSError if there is no space.
        """
        raise LookupError("the program has ended")

    @property
    def python(self) -> str:
        """The Python that measures its step; "" for the lab's own."""
        return ""

    def note_trial(self, finding: Bottleneck, tried: Tried) -> Tried:
        """Add a trial of the finding's change to the page; return it with the program's gain."""
        return tried

    def type(self, text: str) -> None:
        """Write to its standard input."""

    def interrupt(self) -> None:
        """Send Ctrl-C."""
        self.type("\x03")

    def signal(self, number: int) -> None:
        """Send it a signal."""
