"""Defines the interface through which a screen uses a watched program on any machine."""

from collections.abc import Callable

from tuilab.model.program import Bottleneck, Caught, Page, ProcessRow, Tried
from tuilab.report.program import page_text


class ShownProgram:
    """The data of a watched program for a screen, and the requests that the screen can make.

    A program that has ended still has a page, but ignores requests. changed, caught, wrote: callbacks that
    are called from a thread: after a change, after a capture succeeded or failed, and with the program's
    output.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.steps: dict[int, float] = {}
        """Durations of the latest steps in seconds, by step number."""
        self.changed: Callable[[], None] = lambda: None
        self.caught: Callable[[Caught], None] = lambda told: None
        self.wrote: Callable[[bytes], None] = lambda data: None

    @property
    def running(self) -> bool:
        return False

    @property
    def catches(self) -> bool:
        """True if a step of the program can be captured from this screen."""
        return self.running

    @property
    def now(self) -> Page:
        """The program's page, with the elapsed time."""
        return self.page

    @property
    def rows(self) -> tuple[ProcessRow, ...]:
        return self.page.processes

    @property
    def said(self) -> str:
        """The page as text."""
        return page_text(self.page)

    def choose(self, index: int) -> None:
        """Show the page of the process in that row."""

    def output(self, lines: int) -> list[str]:
        """Return the program's last output lines as its terminal shows them."""
        return []

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the program's terminal."""

    def catch(self, number: int | None = None) -> str:
        """Capture a function into a folder at its next call; return the function's name.

        number: the number of a tf.function; None for the step. `caught` receives the outcome. Raises
        LookupError if there is no such function or no observer, OSError if the disk is full.
        """
        raise LookupError("the program has ended")

    @property
    def python(self) -> str:
        """The path of the Python that measures the program's step; "" for the lab's own."""
        return ""

    def note_trial(self, finding: Bottleneck, tried: Tried) -> Tried:
        """Add the trial of a finding's change to the page; return the trial with its gain for the whole
        program.
        """
        return tried

    def type(self, text: str) -> None:
        """Write to the program's standard input."""

    def interrupt(self) -> None:
        self.type("\x03")

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
