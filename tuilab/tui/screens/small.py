"""Sizes of the terminal for each layout, and a message for a terminal that is too small."""

from textual.widgets import Static

from tuilab.tui.keys import spoken

SMALLEST = (60, 16)
WIDTHS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (110, "-middle"), (160, "-wide")]
HEIGHTS = [(0, "-tiny"), (SMALLEST[1], "-short"), (30, "-medium"), (36, "-tall"), (52, "-vast")]
"""Minimum height of each layout, in rows, with the layout's class in the style sheet."""


class Small(Static):
    def __init__(self) -> None:
        super().__init__(id="small", markup=False)

    def render(self) -> str:
        width, height = self.app.size
        need = f"tuilab needs {SMALLEST[0]} × {SMALLEST[1]} characters"
        return spoken(self, f"{need}; this terminal has {width} × {height}. Runs continue. {{quit}} quits.")
