"""Rounds unpacked from arrays equal the original rounds bit by bit, and give the same state."""

import base64
import math
import random
import zlib
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made import MODES, folded, regular, regular_run, started
from tuilab.history import packed
from tuilab.history.runs import PIECE_BYTES, Piece
from tuilab.history.store import Store
from tuilab.model import events as e

seconds = st.floats(min_value=0, max_value=1e12)
blocks = st.builds(
    e.Block,
    st.sampled_from([arm.id for arm in MODES] + ["unknown"]),
    st.integers(0, 3),
    st.integers(1, 2**53),
    seconds,
    st.none() | seconds,
)
some_rounds = st.builds(
    e.Round,
    run=st.just("r1"),
    index=st.integers(0, 2**53),
    blocks=st.lists(blocks, max_size=5).map(tuple),
    elapsed_s=seconds,
    timed_s=seconds,
    canary_s=st.none() | seconds,
    repeated=st.booleans(),
    worker=st.integers(0, 1),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(some_rounds, min_size=1, max_size=12))
def test_packed_samples_are_restored_exactly(rounds):
    numbered = [(3 * i + 2, r) for i, r in enumerate(rounds) if r.worker == rounds[0].worker]
    data = packed.pack(numbered)
    assert data is not None
    assert list(packed.rounds(data)) == numbered
    assert [e.encode(r) for _, r in packed.rounds(data)] == [e.encode(r) for _, r in numbered]
    assert packed.sound(data, "r1", len(numbered)) == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(some_rounds, max_size=12), st.integers(1, 4_000))
def test_a_run_from_the_store_equals_the_live_run(tmp_path_factory, rounds, piece):
    events = [
        started("r1", *MODES),
        *sorted(rounds, key=lambda r: r.worker),
        e.HostWatched(run="r1", windows=(e.HostWindow(0, len(rounds), 0.5, 1e-5),)),
        e.Finished(run="r1", status="ok"),
    ]
    store = Store.open(tmp_path_factory.mktemp("history"))
    try:
        lines = [e.encode(event).rstrip() for event in events]
        store.append("r1", 0, lines[:4], events[0])
        store._loose["r1"] = PIECE_BYTES - piece  # the first piece ends after an arbitrary round
        for number, line in enumerate(lines[4:], 4):
            store.append("r1", number, [line])
        store.conclude("r1", "ok")
        assert [line for _, line in store.raw("r1")] == lines
        assert list(store.events("r1")) == events
        assert store.next_number("r1") == len(lines)
        assert store.state("r1") == folded(*events)
    finally:
        store.close()


def test_a_long_run_takes_few_bytes_a_sample(tmp_path):
    store = Store.open(tmp_path)
    events = regular_run(count=4_000)
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    (line,) = store.runs()
    assert line.size < 16 * 12_000 and line.rounds == 4_000
    assert store.state("r1") == folded(*events)
    store.close()


def test_a_damaged_piece_is_reported_and_the_rest_is_read(tmp_path):
    store = Store.open(tmp_path)
    events = regular_run(count=4_000)
    store.replace(events[0], [e.encode(event).rstrip() for event in events])
    (first,) = store.connection.execute("SELECT first FROM pieces ORDER BY first LIMIT 1").fetchone()
    store.connection.execute("UPDATE pieces SET data = substr(data, 1, 5000) WHERE first = ?", (first,))
    state = store.state("r1")
    assert 0 < state.rounds < 4_000 and any("cannot be read" in log.text for log in state.log)
    assert sum(isinstance(event, e.Round) for event in store.events("r1")) == state.rounds
    assert math.isclose(state.timed_s, folded(*events).timed_s)
    store.close()


@pytest.mark.parametrize("length", [0, 1, 2, 50, 400])
def test_checking_a_damaged_piece_raises_nothing(length):
    data = packed.pack(list(enumerate(regular(30))))
    rng = random.Random(length)
    for _ in range(200):
        broken = bytearray(data[: length or None])
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        if bytes(broken) != data:
            packed.sound(bytes(broken), "r1", 30)


def test_a_piece_with_a_negative_number_of_blocks_is_damaged():
    piece = packed._decode_piece(packed.pack(list(enumerate(regular(3)))))
    blocks = sum(piece.blocks)
    piece.sizes = packed._planes(array("i", [blocks + 1, -1, 0]))
    broken = bytes([packed.FORM]) + zlib.compress(packed._encode(piece))
    for read in (lambda: list(packed.rounds(broken)), lambda: packed.unpack(broken, 0.0)):
        with pytest.raises(packed.Damaged):
            read()


def test_a_piece_of_another_run_or_length_is_damaged():
    data = packed.pack(list(enumerate(regular(30))))
    assert packed.sound(data, "r1", 30) == ""
    assert packed.sound(data, "r2", 30) == "30 rounds of run 'r1' in place of 30 rounds of 'r2'"
    assert packed.sound(data, "r1", 31) == "30 rounds of run 'r1' in place of 31 rounds of 'r1'"


def test_events_between_packed_rounds_keep_their_places(tmp_path):
    """Replay restores the order from the number of rounds before each event."""
    start, *rounds, end = regular_run(count=2_000)
    events = [start]
    for index, each in enumerate(rounds):
        events += [each, e.Log(run="r1", text=f"after {index + 1}")] if index % 7 == 3 else [each]
        if index % 35 == 3:
            events.append(e.Log(run="r1", text=f"after {index + 1}"))
    store = Store.open(tmp_path)
    store.replace(start, [e.encode(event).rstrip() for event in [*events, end]])
    pieces = [part for part in store.parts("r1") if isinstance(part, Piece)]
    assert sum(len(piece.lines) for piece in pieces) > 100
    passed = 0
    for piece in pieces:
        for before, event in piece.lines:
            assert event.text == f"after {passed + before}"
        passed += piece.rounds
    store.close()


STORED = (
    "AXgBu8MgvKjIkIFp8qTdyQWlBnqpiempRXpFqcWZKal5JXppOfmJJcZGDJN2gmUrchKxyEF0phclFmRgyk5mYmI6IsDAyIACMEUOH+Fg"
    "ZoaoOcLDwMjEwATVAlQ6iUGFwRNKHmKwP3BE4OPHjIzHjzs6tm798ePJEzu7I0yMjEeYGBiOcAhA7TliULrmi9yXyXKN0unxPG+3NKt4"
    "7d8iY/7TseL98lc1152Xma83cP/mGxAQ4B9gDwZHDEL4mGW0luy6r3L6NVuvTluCwuVt3U2CSaek9vDd4mKOTmuyibGXVVCUUZKG6mBk"
    "BACg/WQT"
)


def test_pieces_that_this_version_has_stored_are_read_by_later_ones():
    assert list(packed.rounds(base64.b64decode(STORED))) == list(enumerate(regular(2)))
