import asyncio
import re
import sqlite3
import time
from contextlib import asynccontextmanager

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input, TextArea

from tests.tui.kept import keep, run_events, some
from tests.tui.lab import lab, opened, press, rest, text, until
from tuilab.history import browse
from tuilab.history.browse import Extent
from tuilab.history.runs import PruneCandidates
from tuilab.history.store import FILE, Store
from tuilab.lab import history as kept_history
from tuilab.lab.export import write_several
from tuilab.lab.history import PAGE, Stopped, prune, tags_of
from tuilab.model import moments
from tuilab.model.brief import Brief
from tuilab.model.sanitize import sanitize_line
from tuilab.presentation.run_list import MOST_PAGES, WAITING, RunList, changed, fastest, lead, sentence
from tuilab.tui.screens.help import HelpScreen
from tuilab.tui.screens.help import page as help_page
from tuilab.tui.screens.history import HistoryScreen, Said
from tuilab.tui.screens.lab import LabScreen
from tuilab.tui.screens.prune import PruneScreen
from tuilab.tui.screens.runs_compared import RunsCompared

SLOWER, FIRST, GHOST, LAPTOP, LAST = "b2" * 16, "a1" * 16, "d4" * 16, "c3" * 16, "07" * 16


@asynccontextmanager
async def page(tmp_path, make=some, size=(120, 40), **options):
    app = lab(tmp_path, store=lambda: make(tmp_path / "history"), **options)
    async with opened(app, size) as pilot:
        await press(pilot, app, "h")
        yield pilot, app


def store_of(app):
    return app.screen_stack[0].lab.saved.store


def said(app):
    return app.screen.query_one(Said).text


def listed(app):
    return [entry.run for entry in app.screen.runs if entry.run]


async def type_in(pilot, app, words):
    await pilot.press(*["space" if word == " " else word for word in words])
    await rest(pilot, app)


FINDS = {
    "#nightly": [LAPTOP, SLOWER],
    "machine:lap": [LAPTOP],
    "stft-medium": ["f6" * 16],
    "new driver": [SLOWER],
    "pinned:ghost": [GHOST],
    "zzz": [],
}


async def test_a_small_screen_also_shows_the_hour_of_a_run(tmp_path):
    async with page(tmp_path, size=(60, 18)) as (_, app):
        assert re.search(r"2026-01-05 \d\d:\d\d", text(app))


async def test_a_change_by_another_process_is_announced_until_the_list_is_refreshed(tmp_path):
    async with page(tmp_path) as (pilot, app):
        assert "has changed" not in said(app)
        other = Store.open(tmp_path / "history")
        other.note(LAPTOP, "from another shell")
        other.close()
        await until(pilot, lambda: "The history has changed; r refreshes the list." in said(app))
        await press(pilot, app, "r")
        await rest(pilot, app)
        assert "from another shell" in {entry.line.note for entry in app.screen.runs}
        assert said(app) == "List refreshed."


async def test_times_in_the_history_are_local_or_utc_on_request(tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        async with page(tmp_path / "local") as (_, app):
            assert "2026-01-05 18:00" in text(app) and "UTC" not in text(app)
        monkeypatch.setattr(moments, "in_utc", True)
        async with page(tmp_path / "utc") as (_, app):
            assert "2026-01-05 09:00" in text(app) and "when (UTC)" in text(app)
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_the_history_lists_the_latest_first_and_filters_while_typing(tmp_path):
    async with page(tmp_path) as (pilot, app):
        assert isinstance(app.screen, HistoryScreen)
        lines = text(app)
        assert "7 runs" in lines and "CPU graph 450 µs" in lines and "1.72×" in lines
        assert listed(app)[0] == LAST and listed(app)[-1] == FIRST
        assert "#driver-570" in lines and "baseline" in lines and "laptop" in lines
        (brief,) = (
            store_of(app).connection.execute("SELECT brief FROM runs WHERE run = ?", (FIRST,)).fetchone()
        )
        assert msgspec.json.decode(brief)[1] == "CPU graph", "the row computed for the list is saved"
        for words, found in FINDS.items():
            await press(pilot, app, "slash")
            await type_in(pilot, app, words)
            assert listed(app) == found
            assert found or f"No run contains “{words}”" in text(app)
            await press(pilot, app, "enter escape")
            assert len(listed(app)) == 7
        other = Store.open(tmp_path / "history")
        keep(other, run_events("ff" * 16, "2026-02-01T00:00:00Z"))
        other.close()
        await press(pilot, app, "r")
        assert listed(app)[0] == "ff" * 16, "a run that another program saved"
        await press(pilot, app, "escape")
        assert isinstance(app.screen, LabScreen)


async def test_a_sweep_names_its_axis(tmp_path):
    def make(folder):
        store = some(folder)
        store.keep_brief(FIRST, Brief(24, "CPU graph", 1e-3, swept="samples"))
        return store

    async with page(tmp_path, make=make, size=(160, 50)) as (pilot, app):
        assert "stft-small by " in text(app)
        await pilot.resize_terminal(80, 24)
        await press(pilot, app, "end")
        assert "stft-small by samples" in text(app), (
            "the title is below the list if the row has no room for it"
        )


async def test_the_palette_opens_the_history_and_lists_its_keys_as_help_does(tmp_path):
    async with page(tmp_path) as (pilot, app):
        for words, action, there in (
            ("baseline", "pin as baseline, or unpin  (b)", lambda: "pinned as baseline" in said(app)),
            ("history", "history  (h)", lambda: True),
        ):
            await pilot.press("ctrl+p")
            await until(pilot, lambda: not isinstance(app.screen, LabScreen | HistoryScreen))
            await pilot.press(*words)
            await until(pilot, lambda action=action: action in text(app))
            await pilot.press("enter")
            await until(pilot, lambda there=there: isinstance(app.screen, HistoryScreen) and there())
            await rest(pilot, app)
            await press(pilot, app, "escape") if words == "baseline" else None
        words = help_page(app.screen, app.keymap)
        for key in ("/", "c", "t", "n", "g", "b", "d, delete", "u", "p", "e", "i", "x", "space", "a", "O"):
            assert f"| {key} |" in words, key
        await press(pilot, app, "question_mark")
        assert isinstance(app.screen, HelpScreen) and "The history" in text(app)
        await press(pilot, app, "escape")
        assert isinstance(app.screen, HistoryScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_two_runs_are_compared_with_clicks_on_the_footer_only(tmp_path, size):
    async with page(tmp_path, size=size) as (pilot, app):
        for row in (1, 2):
            await pilot.click(app.screen.table, offset=(12, row))
            await rest(pilot, app)
            foot = text(app).splitlines()[-1]
            await pilot.click(offset=(foot.index("space mark"), size[1] - 1))
            await rest(pilot, app)
        assert len(app.screen.table.marked) == 2
        await pilot.click(offset=(text(app).splitlines()[-1].index("c compare"), size[1] - 1))
        await until(pilot, lambda: "2 runs compared" in text(app))


async def test_the_run_under_the_cursor_is_described_and_the_mouse_marks_and_orders(tmp_path):
    async with page(tmp_path, size=(160, 50)) as (pilot, app):
        table = app.screen.table
        await pilot.click(table, offset=(1, 3))
        await rest(pilot, app)
        assert list(table.marked) == [listed(app)[2]]
        head = text(app).splitlines()[2].index("rounds") - table.region.x
        for place in (0, -1):
            await pilot.click(table, offset=(head, 0))
            await rest(pilot, app)
            assert listed(app)[place] == LAST, "the run with the fewest rounds"
        await press(pilot, app, "escape h end up")
        shown = text(app)
        assert "After the new driver." in shown and "busy with a build" in shown
        assert "CPU graph is fastest: 0.45 ms." in shown and "id b2b2b2b2" in shown
        await press(pilot, app, "O O")
        names = [entry.name for entry in app.screen.runs]
        assert names == sorted(names)
        await press(pilot, app, "I slash")
        await type_in(pilot, app, "stft")
        names = [entry.name for entry in app.screen.runs]
        assert names == sorted(names, reverse=True) and len(names) == 7, "searching keeps the order"
        await press(pilot, app, "enter")
        keys = text(app).splitlines()[-1]
        await pilot.click(offset=(keys.index("prune"), 49))
        await until(pilot, lambda: isinstance(app.screen, PruneScreen))


async def test_several_runs_are_tagged_and_a_note_may_have_several_lines(tmp_path):
    async with page(tmp_path) as (pilot, app):
        await press(pilot, app, "end up up space space t")
        assert app.screen.query_one(Input).value == "nightly"
        await press(pilot, app, ["backspace"] * 7)
        await type_in(pilot, app, "#weekly, a b,weekly")
        await press(pilot, app, "enter")
        assert said(app) == "Tags of 2 runs: #weekly #a b"
        tags = {line.run: line.tags for line in store_of(app).runs()}
        assert tags[LAPTOP] == ("a b", "weekly") and tags[SLOWER] == ("a b", "driver-570", "weekly")
        await press(pilot, app, "escape h end n")
        await type_in(pilot, app, "one")
        await press(pilot, app, "enter")
        await type_in(pilot, app, "[two]")
        await press(pilot, app, "ctrl+s")
        assert store_of(app).find(FIRST).note == "one\n[two]" and "is saved" in said(app)
        assert "[two]" in text(app)
        await press(pilot, app, "n")
        app.screen.query_one(TextArea).text = "thrown away"
        await press(pilot, app, "escape")
        assert isinstance(app.screen, HistoryScreen) and store_of(app).find(FIRST).note == "one\n[two]"


async def test_a_pinned_ghost_is_drawn_under_the_live_plot(tmp_path):
    async with page(tmp_path) as (pilot, app):
        lab_state = app.screen_stack[0].lab.state
        assert {state.run for state in lab_state.ghosts.pinned} == {FIRST, GHOST}, (
            "pinned runs are drawn from the start"
        )
        await press(pilot, app, "end up g")
        assert "pinned as ghost" in said(app) and store_of(app).find(SLOWER).pinned == "ghost"
        assert SLOWER in {state.run for state in lab_state.ghosts.pinned}
        await press(pilot, app, "escape r")
        assert {g.run for g in lab_state.ghosts.under(lab_state.shown)} == {FIRST, GHOST, SLOWER}
        assert "faint: earlier runs" in text(app)
        await press(pilot, app, "h end up g")
        assert ": unpinned." in said(app) and store_of(app).find(SLOWER).pinned == ""
        assert SLOWER not in {state.run for state in lab_state.ghosts.pinned}


async def test_deletions_are_undone_and_a_prune_lists_first_what_it_would_delete(tmp_path):
    async with page(tmp_path) as (pilot, app):
        await press(pilot, app, "space space d")
        assert said(app) == "Deleted: 2 runs. u undoes it."
        assert len(listed(app)) == 5 and not app.screen.table.marked
        await press(pilot, app, "delete escape h u")
        assert said(app) == "Restored: 1 run." and len(listed(app)) == 5
        await press(pilot, app, "u u")
        assert len(listed(app)) == 7 and said(app) == "Nothing left to restore."
        await press(pilot, app, "p")
        assert isinstance(app.screen, PruneScreen) and "Nothing chosen yet" in text(app)
        await press(pilot, app, "enter minus")
        assert "- is not a number" in text(app) and isinstance(app.screen, PruneScreen)
        await press(pilot, app, "backspace 1 0")
        assert "5 runs with " in text(app) and "Pinned and running runs" in text(app)
        await press(pilot, app, "enter")
        assert "5 runs deleted" in said(app)
        assert set(listed(app)) == {FIRST, GHOST}, "pinned runs are not deleted"
        await press(pilot, app, "u")
        assert len(listed(app)) == 7


async def test_compared_runs_list_their_differences(tmp_path):
    async with page(tmp_path, size=(160, 50)) as (pilot, app):
        await press(pilot, app, "end c")
        assert "Mark two or more runs" in said(app) and isinstance(app.screen, HistoryScreen)
        await press(pilot, app, "up c")
        assert "2 runs compared" in text(app) and "2026-01-02 09:00" in text(app), "against the baseline"
        await press(pilot, app, "b")
        told = [note.message for note in app._notifications]
        assert told == ["This key works on the page below. First close this page: esc."]
        await press(pilot, app, "escape up c")
        shown = text(app)
        assert "host is gpu-07 versus laptop" in shown and "pci bus id: 0000:1b:00.0 versus no GPU" in shown
        assert "samples is 256 versus 65536" in shown
        assert "–" in next(line for line in shown.splitlines() if "GPU eager" in line)
        # mark the slower run, the baseline, and a run with another TensorFlow version
        await press(pilot, app, "escape home down space end up space space c")
        assert isinstance(app.screen, RunsCompared)
        shown = text(app)
        assert "3 runs compared" in shown and "A stft-small  2026-01-02" in shown and "the base" in shown
        assert "≠ different machines: tensorflow is 2.21.0 versus 2.22.0" in shown
        graph = next(line for line in shown.splitlines() if "CPU graph  " in line and "[" in line)
        assert "346 µs [342 349]" in graph and "1.29× slower" in graph and "within the noise" in shown
        await press(pilot, app, "escape")
        assert isinstance(app.screen, HistoryScreen)


async def test_too_many_runs_are_not_compared(tmp_path):
    def many(folder):
        store = Store.open(folder)
        for number in range(10):
            keep(store, run_events(f"r{number}", f"2026-01-{number + 1:02}T00:00:00Z", rounds=1))
        return store

    async with page(tmp_path, many) as (pilot, app):
        await press(pilot, app, [*["space"] * 10, "c"])
        assert "At most 8 runs" in said(app)
        await press(pilot, app, "a")
        assert not app.screen.table.marked


async def test_runs_are_exported_in_each_format_and_recordings_imported_elsewhere(tmp_path, monkeypatch):
    (out := tmp_path / "out").mkdir()
    monkeypatch.chdir(out)
    known = set()
    async with page(tmp_path) as (pilot, app):
        await press(pilot, app, "end")
        for place, suffix in enumerate((".md", ".html", ".csv", ".json", ".svg")):
            await press(pilot, app, ["e", *["down"] * place, "enter"])
            await until(pilot, lambda: len(list(out.iterdir())) > len(known))
            (file,) = set(out.iterdir()) - known
            await until(pilot, lambda file=file: str(file) in said(app))
            assert file.suffix == suffix and file.stat().st_size > 500
            known.add(file)
        await press(pilot, app, ["space", "up", "space", "e", *["down"] * 5, "enter"])
        await until(pilot, lambda: "2 files" in said(app))
    async with page(tmp_path / "other", Store.open) as (pilot, other):
        shown = " ".join(text(other).replace("│", " ").split())
        assert (
            "No run has been saved yet" in shown
            and "r then measures a run and saves it" in shown
            and "i imports" in shown
        )
        for _ in range(2):
            await press(pilot, other, "i enter")
            await until(pilot, lambda: "history" in said(other) or "imported" in said(other))
        assert said(other).endswith("is already in the history; nothing changed.")
        assert len(listed(other)) == 1
        await press(pilot, other, "i down enter")
        assert said(other).endswith("1 run imported.") and len(listed(other)) == 2
        (out / "bad.jsonl").write_text("{\x1b]52;c;aGk=\x07}\n")
        await press(pilot, other, "i enter")
        assert "bad.jsonl, line 1" in said(other) and "\x1b" not in said(other)
        await press(pilot, other, "i tab")
        await type_in(pilot, other, "none.jsonl")
        await press(pilot, other, "enter")
        assert "none.jsonl" in said(other) and "there is no such file" in said(other)


async def test_a_run_is_replayed_in_the_lab_and_a_run_ended_meanwhile_is_listed(tmp_path):
    async with page(tmp_path, hold=3) as (pilot, app):
        await press(pilot, app, "enter")
        assert "nothing to replay" in said(app)
        await press(pilot, app, "end enter")
        assert isinstance(app.screen, LabScreen)
        await until(pilot, lambda: app.screen.lab.state.shown.status == "ok")
        await rest(pilot, app)
        assert "replay · gpu-07 · 2026-01-02" in text(app) and app.runner.measured == []
        await press(pilot, app, "r r h d")
        assert "stop it in the lab" in said(app)
        await press(pilot, app, "enter")
        assert "A run is in progress" in said(app) and isinstance(app.screen, HistoryScreen)
        assert len(listed(app)) == 8 and "not finished" in text(app)
        app.runner.let_go()
        await until(pilot, lambda: "not finished" not in text(app))


async def test_long_operations_show_progress_and_can_be_stopped(tmp_path, monkeypatch):
    def endless(store, file, at):
        for number in range(10_000):
            at(number, 10_000)
            time.sleep(0.005)
        return []

    monkeypatch.setattr(kept_history, "import_file", endless)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.jsonl").write_text("")
    async with page(tmp_path) as (pilot, app):
        for keys, words in (
            (("i", "enter"), "of 10,000… x stops"),
            (("i", "enter"), "Only one task can run at a time"),
            (("x",), "stopped"),
        ):
            await pilot.press(*keys)
            await until(pilot, lambda words=words: words in said(app))
        await rest(pilot, app)
        assert app.screen.going is None
        await press(pilot, app, "x")
        assert "No task is running" in said(app)
        client, going = app.screen.history, kept_history.CancellableProgress("Pruning")
        store_of(app).connection.execute("UPDATE runs SET deleted_at = 1 WHERE run = ?", (LAST,))
        going.stop()
        with pytest.raises(Stopped, match="1 run deleted.* was stopped"):
            await prune(client, PruneCandidates((SLOWER,), 10), going)
        entry = browse.entry(store_of(app), FIRST)
        with pytest.raises(Stopped, match="Stopped: 0 of 2 files written."):
            await write_several(client, "recording", [entry, entry], {}, tmp_path, going)
        await rest(pilot, app)
    assert [file.name for file in tmp_path.glob("*.jsonl")] == ["long.jsonl"]


async def test_a_locked_or_damaged_history_is_reported_and_the_page_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_history, "PATIENCE_MS", 50)
    file = tmp_path / "history" / FILE
    async with page(tmp_path) as (pilot, app):
        await press(pilot, app, "end")
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await press(pilot, app, "d")
        assert "Another program is using the history" in said(app) and len(listed(app)) == 7
        other.execute("ROLLBACK")
        other.close()
        await press(pilot, app, "d")
        assert "Deleted" in said(app) and len(listed(app)) == 6
        await press(pilot, app, "escape")
        store_of(app).connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with file.open("r+b") as stream:
            stream.write(b"no database at all" * 5_000)
        await press(pilot, app, "h")
        assert "damaged" in said(app) and "file was renamed" in said(app)
        assert "No run has been saved yet" in text(app)
        assert list(file.parent.glob("history-damaged-*"))
        await press(pilot, app, "escape r h")
        assert len(listed(app)) == 1, "the lab continues in the new history"


async def test_an_empty_history_in_memory_says_why_and_accepts_every_key(tmp_path):
    async with page(tmp_path, lambda folder: Store.in_memory("there is no home"), (80, 24)) as (pilot, app):
        shown = " ".join(text(app).replace("│", " ").split())
        assert "Runs are only in memory: there is no home." in shown
        for key in ("enter", "space", "c", "t", "n", "g", "b", "d", "e", "O", "I", "end", "pagedown"):
            await press(pilot, app, key)
            assert isinstance(app.screen, HistoryScreen), key
        await press(pilot, app, "escape r h d u")
        assert len(listed(app)) == 1 and "Restored" in said(app)


figures = st.floats(1e-12, 1e12)
HOSTILE = "[red]x[/] \x1b]52;c;aGk=\x07\x1b[2J\u202e\u200b[@click=app.quit]y[/] 漢字 e\u0301"


async def test_stored_text_is_not_markup_and_sends_no_escapes(tmp_path):
    def make(folder):
        store = some(folder)
        for column in [
            "preset",
            "host",
            "answer",
            "note",
            "source",
            "budget",
            "status",
            "pinned",
            "workload",
        ]:
            store.connection.execute(f"UPDATE runs SET {column} = ?", (HOSTILE,))
        store.connection.execute("UPDATE OR IGNORE tags SET tag = ?", (HOSTILE,))
        return store

    async with page(tmp_path, make, (200, 60)) as (pilot, app):
        await press(pilot, app, "end up")
        assert "[red]x[/]" in text(app)
        for keys in ("end", "t", "n", "e", "space space c"):
            await press(pilot, app, keys)
            assert not set(text(app)) & set("\x1b\x07\u202e\u200b")
            await press(pilot, app, "escape" if keys != "end" else "up")
        await press(pilot, app, "g d u question_mark escape")
        assert isinstance(app.screen, HistoryScreen)


def ten_thousand(folder):
    from tests.benchmarks.scale import keep_many

    keep_many(folder.parent)
    store = Store.open(folder)
    store.connection.execute("UPDATE runs SET status = NULL")
    return store


async def test_of_ten_thousand_runs_only_visible_rows_are_read(tmp_path):
    async with page(tmp_path, ten_thousand) as (pilot, app):
        assert "1 of 10,000 runs" in text(app)
        assert len(app.screen.runs[:]) <= 2 * PAGE
        await press(pilot, app, "end")
        assert "10,000 of 10,000 runs" in text(app) and len(app.screen.runs[:]) <= 4 * PAGE
        await press(pilot, app, ["pageup"] * 5)
        assert len(app.screen.runs[:]) <= 5 * PAGE and "▸  …" not in text(app)
        await press(pilot, app, "slash")
        await type_in(pilot, app, "00000000000000000000000000000f")
        assert 0 < len(listed(app)) <= 256


@given(st.text(max_size=200))
def test_any_input_gives_clean_tags(line):
    tags = tags_of(line)
    assert len(tags) == len(set(tags)) <= 30
    for tag in tags:
        assert tag == tag.strip() and 0 < len(tag) <= 65 and "," not in tag and not tag.startswith("#")
        assert sanitize_line(tag, 64) == tag or len(tag) > 64
    assert tags_of(", ".join(tags)) == tags


class Pages:
    """A fake history with `total` runs. Records which pages of the list are read."""

    def __init__(self, total):
        self.total, self.read = total, []

    async def do(self, call):
        first = call.func is kept_history.first_page
        number = call.keywords["place"] // PAGE if first else call.keywords["number"]
        self.read.append(number)
        line = msgspec.structs.replace(WAITING.line, run="r")
        entries = [msgspec.structs.replace(WAITING, line=line)] * min(PAGE, self.total - number * PAGE)
        return (Extent(self.total), number, entries, call.keywords["place"]) if first else entries


@given(st.integers(1, 50 * PAGE), st.lists(st.integers(0, 50 * PAGE), max_size=60))
def test_only_viewed_pages_are_read(total, looked):
    async def look():
        client = Pages(total)
        runs = RunList(client, {})
        runs.find("")
        assert await runs.read_next() == 0 and client.read == [0] and len(runs) == total
        for place in looked:
            runs.look(place, place + 1)
            while runs.wants:
                assert await runs.read_next() is None
            assert place >= total or runs[place].run == "r"
            assert len(runs[:]) <= MOST_PAGES * PAGE
        assert set(client.read) == {0} | {place // PAGE for place in looked if place < total}

    asyncio.run(look())


async def test_scrolling_during_a_search_may_pass_its_last_result():
    client = Pages(3 * PAGE)
    runs, do = RunList(client, {}), client.do
    runs.find("")
    await runs.read_next()

    async def looked_at_meanwhile(call):
        runs.look(0, 50)
        return await do(call)

    client.total, client.do = 2, looked_at_meanwhile
    runs.find("a word")
    while runs.wants:
        await runs.read_next()
    assert len(runs) == 2 and runs[1].run == "r"


def test_a_run_without_an_end_may_be_running():
    line = msgspec.structs.replace(WAITING.line, status=None, answer="", rounds=9)
    entry = msgspec.structs.replace(WAITING, brief=None, line=line)
    assert sentence(entry).startswith("It is being measured, or was cut short")
    over = msgspec.structs.replace(line, status="ok")
    assert sentence(msgspec.structs.replace(entry, line=over)).startswith("No answer was saved")


def test_a_sweep_shows_no_single_size():
    entry = msgspec.structs.replace(WAITING, parameters={"frame_length": 64, "batch": 2})
    assert changed(entry, None) == "frame_length=64 batch=2"
    swept = Brief(24, "CPU graph", 1e-3, swept="samples, frame length", sizes="256 to 1M samples")
    assert changed(msgspec.structs.replace(entry, brief=swept), None) == "256 to 1M samples, batch=2"


@given(st.builds(Brief, st.integers(), st.text(), st.none() | figures, st.text(), *[st.none() | figures] * 3))
def test_every_brief_can_be_shown(brief):
    entry = msgspec.structs.replace(WAITING, brief=brief)
    assert all(isinstance(text, str) for text in (fastest(entry), lead(entry), sentence(entry)))


@pytest.mark.parametrize(
    ("low", "high", "words", "said"),
    [
        (1.9, 2.2, "2.00×", "takes 2.00× [1.90 2.20] as long"),
        (0.98, 1.04, "≈ 1×", "takes the same time within 10%"),
        (0.7, 4.0, "≈", "shows no significant difference"),
    ],
)
def test_runs_that_noise_leaves_undecided_are_not_called_equal(low, high, words, said):
    ratio = 2.0 if high > 2 else 1.01
    brief = Brief(9, "CPU graph", 1e-3, "GPU graph", ratio, low, high)
    line = msgspec.structs.replace(WAITING.line, status="ok", rounds=9)
    entry = msgspec.structs.replace(WAITING, brief=brief, line=line)
    assert lead(entry) == words and said in sentence(entry)
