"""A text field of one row."""

from typing import Any

from textual.widgets import Input


class LineInput(Input):
    """A text field whose cursor does not blink, so that nothing is sent to the terminal while nobody types.

    Takes the same arguments as `Input`.
    """

    DEFAULT_CSS = "LineInput { background: $panel; }"

    def __init__(self, value: str = "", **given: Any) -> None:
        super().__init__(value, compact=True, **given)
        self.cursor_blink = False
