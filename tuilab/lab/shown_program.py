"""The interface through which a screen uses a watched program, on this or another machine."""

from collections.abc import Callable

from tuilab.model.program import Bottleneck, Caught, Page, ProcessRow, Tried
from tuilab.report.program import page_text


class ShownProgram:
    """A watched program as a screen sees it: its data, and the requests that the screen can make.

    A program that has ended has a page but ignores requests. Three callbacks run in another thread: changed
    (after a change), caught (after a capture has succeeded or failed) and wrote (with the program's output).
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.steps: dict[int, float] = {}
        """Durations of the latest steps, in seconds by step number."""
        self.changed: Callable[[], None] = lambda: None
        self.caught: Callable[[Caught], None] = lambda told: None
        self.wrote: Callable[[bytes], None] = lambda data: None

    @property
    def running(self) -> bool:
        return False

    @property
    def catches(self) -> bool:
        """True if this screen can capture a step of the program."""
        return self.running

    @property
    def now(self) -> Page:
        """The page, with the time that the program has run so far."""
        return self.page

    @property
    def rows(self) -> tuple[ProcessRow, ...]:
        return self.page.processes

    @property
    def said(self) -> str:
        return page_text(self.page)

    def choose(self, index: int) -> None:
        """Show the page of the process in the row `index`."""

    def output(self, lines: int) -> list[str]:
        """Return the program's last output lines as its terminal shows them."""
        return []

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the program's terminal."""

    def catch(self, number: int | None = None) -> str:
        """Save a function to a folder at the next call of the function. Returns the function's name.

        number: number of the tf.function; None for the function of a training step. `caught` receives the
        outcome. Raises OSError if the disk is full, and LookupError if there is no such function or the
        program has no observer.
        """
        raise LookupError("the program has ended")

    @property
    def python(self) -> str:
        """Path of the Python interpreter for measuring the program's step; "" for the lab's own."""
        return ""

    def note_trial(self, finding: Bottleneck, tried: Tried) -> Tried:
        """Add the trial of a finding's change to the page. Returns the trial with its gain for the whole
        program.
        """
        return tried

    def type(self, text: str) -> None:
        """Write to the program's standard input."""

    def interrupt(self) -> None:
        self.type("\x03")

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
