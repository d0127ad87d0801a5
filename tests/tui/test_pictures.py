"""Every view at three sizes, dark and light, with a run in it. `pytest --snapshot-update` renews them after a look:
`python -m tests.tui.look FOLDER` draws them all as SVG."""

from pathlib import Path

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from tests.tui.lab import lab, opened, press, rest
from tests.tui.picture import picture
from tests.tui.scripted import CPU_MACHINE
from tests.tui.tour import PAGES, SIZES, TOUR, still_device
from tuilab.tui.themes import DARK, LIGHT


class Text(SingleFileSnapshotExtension):
    """One text file a picture."""

    _write_mode = WriteMode.TEXT
    _file_extension = "txt"


@pytest.fixture
def shows(snapshot):
    return snapshot.use_extension(Text)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_view(tmp_path: Path, monkeypatch, shows, size):
    still_device(monkeypatch.setattr)
    app = lab(tmp_path, rounds=24)
    async with opened(app, size) as pilot:
        for name, keys in TOUR:
            await press(pilot, app, keys)
            for theme in (DARK,) if name in PAGES else (DARK, LIGHT):
                app.theme = theme.name
                await rest(pilot, app)
                assert picture(app) == shows(name=f"{name}-{theme.name[7:]}")
            app.theme = DARK.name


async def test_pages_in_light(tmp_path: Path, shows):
    app = lab(tmp_path, rounds=24, theme="light")
    async with opened(app) as pilot:
        await press(pilot, app, ["r", "a"])
        assert picture(app) == shows(name="arms")
        await press(pilot, app, ["escape", "question_mark"])
        assert picture(app) == shows(name="help")


@pytest.mark.parametrize("size", SIZES[:2], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_without_a_gpu(tmp_path: Path, shows, size):
    app = lab(tmp_path, rounds=24, machine=CPU_MACHINE)
    async with opened(app, size) as pilot:
        await press(pilot, app, ["enter"] if size[0] > 100 else ["p", "enter"])
        assert picture(app) == shows(name="live")


async def test_in_ascii(tmp_path: Path, shows):
    app = lab(tmp_path, rounds=24, ascii_only=True)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter", "i"])
        shown = picture(app)
        assert shown.isascii()
        assert shown == shows(name="live")


async def test_while_running(tmp_path: Path, shows):
    app = lab(tmp_path, rounds=24, hold=9)
    async with opened(app) as pilot:
        await press(pilot, app, ["enter"])
        assert picture(app) == shows(name="live")
