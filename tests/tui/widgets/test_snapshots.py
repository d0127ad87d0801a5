"""Pictures of the widgets with realistic data; `pytest --snapshot-update` renews them after a look."""

import pytest

from tests.tui.gallery import Gallery

PICTURES = [
    ("sliders", (80, 14), "tuilab-dark", False, ["tab", "tab", "end", "right"]),
    ("sliders", (120, 14), "tuilab-light", False, []),
    ("sliders", (80, 14), "tuilab-dark", True, []),
    ("live", (80, 18), "tuilab-dark", False, []),
    ("live", (120, 30), "tuilab-light", False, []),
    ("live", (80, 18), "tuilab-dark", True, []),
    ("close", (100, 20), "tuilab-dark", False, []),
    ("without_gpu", (60, 16), "tuilab-dark", False, []),
    ("sweep", (80, 20), "tuilab-dark", False, []),
    ("sweep", (200, 50), "tuilab-light", False, []),
    ("nothing", (80, 10), "tuilab-dark", False, []),
    ("compare", (80, 16), "tuilab-dark", False, ["down"]),
    ("compare_log", (120, 14), "tuilab-light", False, []),
    ("phases", (80, 16), "tuilab-dark", False, []),
    ("phases_relative", (120, 14), "tuilab-light", False, []),
    ("numbers", (120, 12), "tuilab-dark", False, ["down"]),
    ("numbers", (80, 12), "tuilab-light", False, []),
    ("placement", (120, 20), "tuilab-dark", False, ["down"]),
    ("log", (80, 10), "tuilab-light", False, []),
    ("answer", (80, 18), "tuilab-dark", False, []),
    ("heat", (80, 20), "tuilab-dark", False, ["right", "up"]),
    ("heat", (120, 30), "tuilab-light", False, []),
    ("timeline_short", (100, 12), "tuilab-dark", False, ["n"]),
    ("device", (80, 24), "tuilab-dark", False, []),
    ("device_without_gpu", (120, 16), "tuilab-light", False, []),
]


@pytest.mark.parametrize(
    ("page", "size", "theme", "ascii_only", "keys"),
    PICTURES,
    ids=[f"{p}-{w}x{h}-{t[7:]}{'-ascii' if a else ''}" for p, (w, h), t, a, _ in PICTURES],
)
def test_picture(snap_compare, page, size, theme, ascii_only, keys):
    app = Gallery(page, theme=theme, ascii_only=ascii_only)
    assert snap_compare(app, terminal_size=size, press=keys)
