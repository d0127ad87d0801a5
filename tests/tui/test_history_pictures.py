"""Pictures of the history page, at two sizes and in ASCII. `--snapshot-update` renews them."""

import pytest

from tests.tui.kept import some
from tests.tui.lab import lab, opened, press
from tests.tui.picture import picture
from tests.tui.test_pictures import shows  # noqa: F401
from tests.tui.tour import SIZES
from tuilab.history.store import Store

TOUR: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("list", ("h", "end", "up")),
    ("compared", ("home", "down", "space", "end", "up", "space", "space", "c")),
    ("tags", ("escape", "t")),
    ("prune", ("escape", "p", "9")),
    ("deleted", ("escape", "d")),
    ("searched", ("u", "slash", "#", "n", "i", "g")),
)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_page(tmp_path, shows, size):  # noqa: F811
    app = lab(tmp_path, store=lambda: some(tmp_path / "history"))
    async with opened(app, size) as pilot:
        for name, keys in TOUR:
            await press(pilot, app, keys)
            assert picture(app) == shows(name=name)


async def test_in_ascii(tmp_path):
    app = lab(tmp_path, store=lambda: some(tmp_path / "history"), ascii_only=True)
    async with opened(app) as pilot:
        for _, keys in TOUR[:2]:
            await press(pilot, app, keys)
            assert picture(app).isascii()


async def test_empty(tmp_path, shows):  # noqa: F811
    app = lab(tmp_path, store=lambda: Store.open(tmp_path / "history"))
    async with opened(app, SIZES[0]) as pilot:
        await press(pilot, app, ["h"])
        assert picture(app) == shows(name="empty")
