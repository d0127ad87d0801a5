"""The form in which the user types the shapes of a function's arguments."""

from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from tuilab.model.errors import InputError
from tuilab.model.shapes import EXAMPLE, checked, parse
from tuilab.tui.keys import spoken
from tuilab.tui.screens.modal import Page, framed
from tuilab.tui.widgets.line_input import LineInput

ABOUT = f"""Type the shape of each argument, such as {EXAMPLE}; named dimensions become sliders. \
Add a range to integers, such as int32[32]:0..999. Type a Python value as you would in code, such as 5. """
FITS = "An empty line takes the shape that it shows; the function accepts these shapes."
NONE_FITS = "None of the usual shapes is known to fit this function."


class ShapesScreen(Page[Sequence[str]]):
    """A form with a text field for each argument. Returns a text such as `a=float32[32,64]` for each
    argument, or None.
    """

    DEFAULT_CSS = """
    ShapesScreen Static { height: auto; }
    ShapesScreen .name { color: $text-muted; }
    ShapesScreen VerticalScroll { height: auto; }
    """

    def __init__(self, function: str, lacking: Sequence[str], suggested: Sequence[str] = ()) -> None:
        """suggested: for each argument, a shape that the function accepts; () if unknown."""
        super().__init__()
        self._function, self._lacking = function, tuple(lacking)
        self._suggested = tuple(suggested) or ("",) * len(self._lacking)

    def compose(self) -> ComposeResult:
        title = f"Shapes for {self._function}"
        with framed(VerticalScroll(), title, "enter continues, {page.close} cancels"):
            yield Static(ABOUT + (FITS if any(self._suggested) else NONE_FITS), markup=False)
            for name, suggested in zip(self._lacking, self._suggested, strict=True):
                yield Static(name, markup=False, classes="name")
                yield LineInput(placeholder=suggested)
            yield Static("", markup=False, id="wrong")

    def on_mount(self) -> None:
        self.query(Input).first().focus()

    def on_key(self, event: events.Key) -> None:
        if event.key in ("down", "up"):
            event.stop()
            self.focus_next() if event.key == "down" else self.focus_previous()

    @on(Input.Submitted)
    def _continue(self, event: Input.Submitted) -> None:
        """Go to the next field. In the last field, return the shapes if all of them are valid.

        An empty field stands for its placeholder.
        """
        lines = list(self.query(Input))
        if event.input is not lines[-1]:
            lines[lines.index(event.input) + 1].focus()
            return
        shapes = [line.value.strip() or line.placeholder for line in lines]
        words = [f"{name}={shape}" for name, shape in zip(self._lacking, shapes, strict=True)]
        try:
            checked([parse(each) for each in words])
        except InputError as error:
            self.query_one("#wrong", Static).update(spoken(self, str(error)))
        else:
            self.dismiss(words)
