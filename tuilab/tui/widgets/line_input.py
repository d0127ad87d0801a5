"""A text input of one row."""

from typing import Any

from textual.widgets import Input


class LineInput(Input):
    """An input without a blinking cursor, so that nothing is sent to the terminal while nobody types.
    Arguments as for `Input`.
    """

    DEFAULT_CSS = "LineInput { background: $panel; }"

    def __init__(self, value: str = "", **given: Any) -> None:
        super().__init__(value, compact=True, **given)
        self.cursor_blink = False
