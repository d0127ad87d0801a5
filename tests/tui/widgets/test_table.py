"""Tables: visible rows, order, cursor. A long table is as fast as a short one."""

from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from tests.tui.data import log_lines, placement_rows
from tests.tui.widgets.bench import bench, press, rows, shown
from tuilab.model.events import Log
from tuilab.tui.filters import BAND_FILL, COLOURLESS
from tuilab.tui.views.log import log_table
from tuilab.tui.views.placement import PlacementTable
from tuilab.tui.widgets.table import Column, Table, share_out

WORDS = st.lists(st.text("abAB ", max_size=6), max_size=60)


def numbers(count: int, **options) -> Table:
    columns = [
        Column("number", lambda row: str(row["n"]), align="right", key=itemgetter("n")),
        Column("name", lambda row: row["name"], flex=True),
    ]
    return Table(columns, [{"n": i, "name": f"name {i % 7}"} for i in range(count)], **options)


@given(WORDS, WORDS, st.text("abAB ", max_size=3), st.text("abAB ", max_size=3), st.booleans())
def test_a_filter_keeps_the_rows_that_contain_every_word(first, more, query, longer, sort):
    rows = list(first)
    table = Table([Column("row", str)], rows)
    table.filter = query
    if sort:
        table.order_by(0, reverse=True)
    rows += more
    table.grew()
    table.filter = query + longer
    words = (query + longer).lower().split()
    expected = [row for row in rows if all(word in row.lower() for word in words)]
    if sort:
        expected.sort(reverse=True)
    found = []
    while table.shown > len(found):
        table.cursor = len(found)
        found.append(table.row)
    assert found == expected


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 5), st.booleans()), min_size=1), st.integers(1, 200)
)
def test_columns_fit_and_optional_ones_are_dropped_first(columns, room):
    made = [Column("x", str, drop=drop, flex=flex) for _, drop, flex in columns]
    shared = share_out(made, [width for width, _, _ in columns], room)
    assert shared and all(width >= 1 for _, width in shared)
    assert sum(width for _, width in shared) + len(shared) - 1 <= max(room, 2 * len(shared) - 1)
    gone = set(range(len(made))) - {i for i, _ in shared}
    kept = [made[i].drop for i, _ in shared]
    assert all(made[i].drop >= max(kept) for i in gone)


async def test_an_empty_column_is_left_out_until_a_row_fills_it():
    columns = [
        Column("name", itemgetter("name"), flex=True),
        Column("bytes", itemgetter("bytes"), sparse=True),
    ]
    table = Table(columns, [{"name": "a", "bytes": ""}])
    async with bench(table, 40, 8) as pilot:
        assert "bytes" not in rows(table)[0]
        await press(pilot, "O O")
        assert table.row == {"name": "a", "bytes": ""}, "the table cannot be sorted by a hidden column"
        table.set_rows([{"name": "a", "bytes": ""}, {"name": "b", "bytes": "4 kB"}])
        await pilot.pause()
        assert "bytes" in rows(table)[0] and "4 kB" in rows(table)[2]


async def test_the_cursor_moves_and_scrolls_and_selects():
    table = numbers(100)
    async with bench(table, 40, 12) as pilot:
        await press(pilot, "down down enter")
        assert pilot.app.said == [("moved", 1), ("moved", 2), ("selected", 2)]
        await press(pilot, "end")
        assert table.row == {"n": 99, "name": "name 1"}
        assert " 99 name 1" in rows(table)[-2] and "100 of 100 rows" in rows(table)[-1]
        await press(pilot, "pageup up")
        assert table.cursor == 88
        await press(pilot, "home")
        assert table.cursor == 0
        await pilot.click(Table, offset=(5, 4))
        await pilot.pause()
        assert pilot.app.said[-1] == ("moved", 3)
        await pilot.click(Table, offset=(5, 4), times=2)
        await pilot.pause()
        assert ("selected", 3) in pilot.app.said


async def test_rows_are_ordered_by_key_and_by_a_click_on_the_header():
    table = numbers(30)
    async with bench(table, 40, 10) as pilot:
        await press(pilot, "O I")
        assert table.row["n"] == 29 and "number ▾" in rows(table)[0]
        await pilot.click(Table, offset=(rows(table)[0].index("name"), 0))
        await pilot.pause()
        assert table.row["name"] == "name 0" and "name ▴" in rows(table)[0]
        await press(pilot, "O")
        assert table.row["n"] == 0 and "▴" not in rows(table)[0]


async def test_a_filter_reports_what_it_found():
    table = numbers(50, text=itemgetter("name"))
    async with bench(table, 60, 10) as pilot:
        table.filter = "name 3"
        await pilot.pause()
        assert table.shown == 7 and "1 of 7 rows with “name 3” (of 50)" in rows(table)[-1]
        table.filter = "nobody"
        await pilot.pause()
        assert "No row contains “nobody”." in shown(table)


async def test_a_log_follows_new_lines_until_the_cursor_leaves_the_end():
    table, lines = log_table(), log_lines()
    table.set_rows(lines)
    async with bench(table, 80, 8) as pilot:
        for i in range(20):
            lines.append(Log(text=f"line {i}"))
            table.grew()
        await pilot.pause()
        assert table.row.text == "line 19"
        await pilot.press("up")
        lines.append(Log(text="one more"))
        table.grew()
        await pilot.pause()
        assert table.row.text == "line 18"


async def test_an_op_that_ran_on_another_device_is_marked_without_colour():
    table = PlacementTable()
    table.set_rows(placement_rows(10))
    async with bench(table, 120, 14) as pilot:
        await press(pilot, "down")
        text = rows(table)
        assert "CPU:0, not GPU:0" in text[2]
        assert "requested GPU:0, ran on CPU:0: this build has no GPU kernel" in text[-1]
        assert "CPU:0 → GPU:0" in text[3] and "folded" in text[4]


async def test_only_visible_rows_are_drawn():
    drawn = []
    column = Column("n", lambda row: (drawn.append(row), str(row))[1], width=8)
    async with bench(Table([column], range(100_000), text=str), 40, 20) as pilot:
        assert 0 < len(drawn) <= 60
        drawn.clear()
        await press(pilot, "pagedown")
        assert 0 < len(drawn) <= 60


async def test_without_colors_the_selected_row_is_not_drawn_as_an_interval():
    table = numbers(3)
    async with bench(table, 40, 6) as pilot:
        for focused in (True, False):
            pilot.app.set_focus(table if focused else None)
            await pilot.pause()
            assert table.has_focus is focused
            for y in range(table.size.height):
                segments = COLOURLESS.apply(list(table.render_line(y)), Color.parse("black"))
                assert BAND_FILL not in "".join(segment.text for segment in segments)


@pytest.mark.parametrize(("page", "raised"), [("#f5f5f5", "#c8c8c8"), ("#101010", "#505050")])
def test_without_colors_only_blank_cells_that_stand_out_are_reversed(page, raised):
    for ground, expected in ((page, False), (raised, True)):
        (shown,) = COLOURLESS.apply([Segment("  ", Style(bgcolor=ground))], Color.parse(page))
        assert bool(shown.style and shown.style.reverse) is expected
