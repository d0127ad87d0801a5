"""Which layout fits which size of the terminal, and what is said when none does."""

from textual.widgets import Static

from tuilab.tui.keys import spoken

SMALLEST = (60, 16)
WIDTHS = [(0, "-tiny"), (SMALLEST[0], "-narrow"), (110, "-middle"), (160, "-wide")]
HEIGHTS = [(0, "-tiny"), (SMALLEST[1], "-short"), (30, "-medium"), (36, "-tall"), (52, "-vast")]
"""From these widths and heights on the style sheet has a layout: presets beside the picture, a wider list;
controls in full, the placement log under them, a longer one."""


class Small(Static):
    """Says that the terminal is too small, and how large it must be."""

    def __init__(self) -> None:
        super().__init__(id="small", markup=False)

    def render(self) -> str:
        width, height = self.app.size
        need = f"tuilab needs {SMALLEST[0]} × {SMALLEST[1]} characters"
        return spoken(self, f"{need}; this terminal has {width} × {height}. Runs continue. {{quit}} quits.")
