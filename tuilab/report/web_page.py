"""Builds web pages without scripts, links or external fonts."""

from html import escape
from importlib.resources import files


def web_page(title: str, body: str) -> str:
    """Return a complete HTML page.

    title: plain text. body: HTML.
    """
    style = (files("tuilab.report") / "page.css").read_text()
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – tuilab</title><style>{style}</style>"
    )
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n"


def wide(table: str) -> str:
    """Return a table inside a box that scrolls sideways on a narrow page."""
    return f'<div class="wide">{table}</div>'
