"""Draws every picture of the tour as SVG: `python -m tests.tui.look FOLDER [WIDTHxHEIGHT] [NAME…]`."""

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.tui.lab import lab, opened, press, rest
from tests.tui.tour import TOUR, still_device
from tuilab.tui.themes import DARK, LIGHT

SIZES = ((80, 24), (120, 40), (200, 60))


async def draw(folder: Path, size: tuple[int, int], names: list[str]) -> None:
    still_device(setattr)
    with tempfile.TemporaryDirectory() as home:
        app = lab(Path(home), rounds=24)
        async with opened(app, size, each=True) as pilot:
            for name, keys in TOUR:
                await press(pilot, app, keys)
                for theme in (DARK, LIGHT) if not names or name in names else ():
                    app.theme = theme.name
                    await rest(pilot, app)
                    file = folder / f"{name}-{size[0]}x{size[1]}-{theme.name[7:]}.svg"
                    file.write_text(app.export_screenshot(), encoding="utf-8")
                app.theme = DARK.name


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    words = sys.argv[2:]
    sizes = [s for s in SIZES if f"{s[0]}x{s[1]}" in words] or list(SIZES)
    names = [w for w in words if w in dict(TOUR)]
    for size in sizes:
        asyncio.run(draw(folder, size, names))


if __name__ == "__main__":
    main()
