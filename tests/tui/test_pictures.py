"""Pictures of each view with a run, at two sizes, and of the themes' colors.

`--snapshot-update` renews them; `python -m tests.tui.look FOLDER` draws them as SVG for a review.
"""

from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.tui.lab import lab, opened, press, rest
from tests.tui.picture import picture
from tests.tui.scripted import CPU_MACHINE
from tests.tui.tour import SIZES, TOUR, still_device
from tuilab.tui.themes import DARK, LIGHT


class Text(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.fixture
def shows(snapshot):
    return snapshot.use_extension(Text)


@pytest.mark.parametrize(
    "size",
    [SIZES[0], pytest.param(SIZES[1], marks=pytest.mark.slow)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)
async def test_every_view(tmp_path: Path, monkeypatch, shows, size):
    still_device(monkeypatch.setattr)
    app = lab(tmp_path, rounds=24)
    async with opened(app, size, each=True) as pilot:
        for name, keys in TOUR:
            await press(pilot, app, keys)
            assert picture(app) == shows(name=name)


async def test_in_light_on_a_large_screen(tmp_path: Path, shows):
    app = lab(tmp_path, rounds=24, theme="light")
    async with opened(app, (200, 60), each=True) as pilot:
        await press(pilot, app, ["r"])
        live = picture(app)
        assert live == shows(name="live")
        for theme in (DARK, LIGHT):
            app.theme = theme.name
            await rest(pilot, app)
            assert (picture(app) == live) is (theme is LIGHT), (
                "only the original theme gives the original colors"
            )
        await press(pilot, app, ["d"])
        assert picture(app) == shows(name="verdict")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_without_a_gpu_in_ascii(tmp_path: Path, shows, size):
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE, ascii_only=True)
    async with opened(app, size, each=True) as pilot:
        await press(pilot, app, ["r", "i"])
        shown = picture(app)
        assert shown.isascii()
        assert shown == shows(name="live")


async def test_while_running(tmp_path: Path, shows):
    app = lab(tmp_path, rounds=24, hold=9)
    async with opened(app, each=True) as pilot:
        await press(pilot, app, ["enter"])
        assert picture(app) == shows(name="live")
