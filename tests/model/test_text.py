"""Sanitizing removes everything from external text that a terminal or a markup parser would interpret."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.events import Answer, Log
from tuilab.model.sanitize import ELLIPSIS, sanitize, sanitize_block, sanitize_line


@given(st.text(st.characters(), max_size=300))
def test_no_control_character_survives(text):
    cleaned = sanitize_line(text)
    assert not [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs")]
    assert sanitize_line(cleaned) == cleaned


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\",
        "\x1b]52;c;aGk=\x07red",
        "\x9b31mred",
        "\x9d0;title\x9cred",
        "\x1bPq#0\x1b\\red",
        "r\u202eed\u200b",
        "r\u200ded",
        "red\x1b",
    ],
)
def test_escape_sequences_are_removed_with_their_arguments(hostile):
    assert sanitize_line(hostile) == "red"


def test_brackets_are_kept():
    assert sanitize_line("[/x] [@click=app.quit]") == "[/x] [@click=app.quit]"


def test_a_long_line_is_cut_with_an_ellipsis():
    assert sanitize_line("a" * 10_000_000, 10) == "a" * 10 + "…"


def test_a_block_keeps_its_lines():
    assert sanitize_block("a\r\nb\tc\rd") == "a\nb    c\nd"


def test_raw_json_is_sanitized_like_the_message_around_it():
    for text, cleaned in (("a\x1b[31mb", "ab"), ("a\u202eb", "ab"), ("ab", "ab")):
        answer = Answer(request="1", kind="k", body=msgspec.Raw(msgspec.json.encode({"said": [text]})))
        assert msgspec.json.decode(sanitize(answer).body) == {"said": [cleaned]}


def test_a_text_of_a_message_is_cut_at_200_000_characters():
    told = sanitize(Log(run="r", text="x" * 200_001, level="info")).text
    assert len(told) == 200_001 and told[-1] == ELLIPSIS
    whole = Log(run="r", text="x" * 200_000, level="info")
    assert sanitize(whole) is whole
