"""A self-contained web page, without scripts, links or fonts from elsewhere."""

from html import escape
from importlib.resources import files


def web_page(title: str, body: str) -> str:
    """Return the whole page. title: plain text. body: HTML."""
    style = (files("tuilab.report") / "page.css").read_text()
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} – tuilab</title><style>{style}</style>"
    )
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n"


def wide(table: str) -> str:
    """Return a table in a box that scrolls if the page is narrower."""
    return f'<div class="wide">{table}</div>'
