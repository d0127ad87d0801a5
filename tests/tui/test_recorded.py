"""The README's pictures match the current app. `python -m tests.tui.recorded` renews them."""

from pathlib import Path

from tests.tui.recorded import PICTURES, draw_all, words_of


async def test_the_recorded_pictures_match_the_app(tmp_path: Path, monkeypatch):
    drawn = await draw_all(tmp_path, monkeypatch.setattr)
    kept = {
        file.stem: file.read_text(encoding="utf-8")
        for file in PICTURES.glob("*.svg")
        if not file.stem.startswith("film-")
    }
    assert set(kept) == set(drawn)
    for name, svg in drawn.items():
        assert words_of(svg) == words_of(kept[name]), name
