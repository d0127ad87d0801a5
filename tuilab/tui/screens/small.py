"""Chooses the layout for the terminal's size, or a message that the terminal is too small."""

from textual.widgets import Static

from tuilab.tui.keys import spoken

SMALLEST = (60, 16)
WIDTHS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (110, "-middle"), (160, "-wide")]
HEIGHTS = [(0, "-tiny"), (SMALLEST[1], "-short"), (30, "-medium"), (36, "-tall"), (52, "-vast")]
"""Minimum sizes for the layouts in the style sheet. Widths: for presets next to the view, and for a wider
list. Heights: for full controls with the placement log below them, and for a longer log.
"""


class Small(Static):
    """A message that the terminal is too small, with the required size."""

    def __init__(self) -> None:
        super().__init__(id="small", markup=False)

    def render(self) -> str:
        width, height = self.app.size
        need = f"tuilab needs {SMALLEST[0]} × {SMALLEST[1]} characters"
        return spoken(self, f"{need}; this terminal has {width} × {height}. Runs continue. {{quit}} quits.")
