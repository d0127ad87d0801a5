"""What the keys of the history do with files: export and import."""

import contextlib
from functools import partial
from pathlib import Path

from tuilab.analysis.words import plural
from tuilab.history import browse
from tuilab.history.browse import Entry
from tuilab.history.imports import import_file
from tuilab.history.store import Store
from tuilab.lab.history import CancellableProgress, Stopped
from tuilab.model.errors import InputError
from tuilab.model.quantity import size
from tuilab.model.sanitize import sanitize_line
from tuilab.tui.screens.history_acts import HistoryActs, titled

MOST_FILES = 16
IMPORTS = "There is no recording (.jsonl) in the current folder. Type the path of one below."


class HistoryFiles(HistoryActs):
    """More actions of `HistoryScreen`."""

    def action_export(self) -> None:
        """Write runs into the current folder, in the formats of the lab."""
        from tuilab.lab.export import formats
        from tuilab.tui.screens.menu import Item, MenuScreen

        entries = self._chosen()
        if not entries:
            return

        def given(key: str | None) -> None:
            if key == "svg":
                self._screen.call_after_refresh(self._picture)
            elif key:
                going = CancellableProgress(f"Writing {titled(entries)}")
                self._act(partial(self._export, key, entries, going), going)

        items = [Item(f.key, f.label, f.detail) for f in formats(True)]
        self._screen.app.push_screen(
            MenuScreen(f"Export {titled(entries)} to the current folder", items), given
        )

    def _picture(self) -> None:
        from tuilab.lab.export import free

        path = free(Path.cwd() / "tuilab-history.svg")
        try:
            path.write_text(self._screen.app.export_screenshot(title="tuilab"), encoding="utf-8")
        except OSError as error:
            self._screen.say(f"{path} could not be written: {error.strerror}", "bad")
        else:
            self._screen.say(f"Written: {path}", "good")

    async def _export(self, key: str, entries: list[Entry], going: CancellableProgress) -> None:
        from tuilab.lab.export import write_kept

        presets = {p.name: p.claims for p in self._screen.lab.state.presets}
        paths: list[Path] = []
        try:
            for done, entry in enumerate(entries):
                going.at(done, len(entries) if len(entries) > 1 else 0)
                claims = presets.get(entry.line.preset, ())
                call = partial(write_kept, key, entry.run, claims, Path.cwd(), going)
                paths.append(await self._screen.ledger.do(call))
        except Stopped:
            self._screen.say(f"Stopped: {len(paths)} of {plural(len(entries), 'file')} written.", "warn")
            return
        except KeyError:
            raise InputError("run", titled(entries), "one that is still in the history") from None
        files = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {Path.cwd()}"
        self._screen.say(f"Written: {files}", "good")

    def action_import(self) -> None:
        """Take in a recording."""
        from tuilab.tui.screens.menu import Item, MenuScreen

        items = [
            Item(str(path), path.name, f"{size(path.stat().st_size)}") for path in recordings(Path.cwd())
        ]

        def given(words: str | None) -> None:
            if words:
                file = Path(words).expanduser()
                going = CancellableProgress(f"Taking in {sanitize_line(file.name, 60)}")
                self._act(partial(self._import, file, going), going)

        typed = "or the path of a recording, then enter" if items else "the path of a recording, then enter"
        self._screen.app.push_screen(
            MenuScreen("Take in a recording", items, typed=typed, empty=IMPORTS), given
        )

    async def _import(self, file: Path, going: CancellableProgress) -> None:
        screen = self._screen

        def call(store: Store) -> tuple[int | None, int]:
            """How many runs it holds, null where it was stopped before, and how many are new."""
            before, found = browse.extent(store).runs, None
            with contextlib.suppress(Stopped):
                found = len(import_file(store, file, going.at))
            return found, browse.extent(store).runs - before

        found, new = await screen.ledger.do(call)
        name = sanitize_line(file.name, 60)
        if found is None:
            screen.say(f"{name}: stopped; {plural(new, 'run')} of it taken in.", "warn")
        else:
            screen.say(f"{name}: {plural(found, 'run')}, {new} of them new here.", "good")
        screen.reload()


def recordings(folder: Path) -> list[Path]:
    """The recordings in a folder, the latest first."""
    try:
        files = [path for path in folder.glob("*.jsonl") if path.is_file()]
        return sorted(files, key=lambda path: -path.stat().st_mtime)[:MOST_FILES]
    except OSError:
        return []
