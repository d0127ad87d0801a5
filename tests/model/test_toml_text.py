"""TOML from outside is accepted up to the limits of nesting and digits, and refused beyond them."""

import tomllib

import pytest

from tuilab.model.errors import InputError
from tuilab.model.toml_text import DEEPEST, LONGEST_NUMBER, toml_text


@pytest.mark.parametrize(
    ("text", "most", "problem"),
    [
        (lambda n: "a = " + "[" * n + "]" * n, DEEPEST, "deep"),
        (lambda n: "a = [1]\n" * 30 + "b = " + "{c = " * n + "1" + "}" * n, DEEPEST, "deep"),
        (lambda n: "[" + ".".join("a" * n) + "]", DEEPEST, "deep"),
        (lambda n: "a = " + "1" * n, LONGEST_NUMBER, "digits"),
        (lambda n: "a = 0." + "1" * n, LONGEST_NUMBER, "digits"),
    ],
)
def test_text_is_accepted_up_to_a_limit_and_refused_beyond_it(text, most, problem):
    assert toml_text(text(most).encode(), "x.toml") == text(most)
    with pytest.raises(
        InputError, match=f"x.toml: got 'a?.*more than {most} {problem}|of more than {most} {problem}"
    ):
        toml_text(text(most + 1).encode(), "x.toml")


def test_brackets_and_digits_in_strings_and_comments_are_accepted():
    inside = "[" * 50 + "9" * 50 + "a." * 50
    text = f'a = "{inside}"\nb = \'{inside}\' # {inside}\nc = """{inside}\n"{inside}"""\nd = \'\'\'{inside}\'\'\'\n'
    assert toml_text(text.encode(), "") == text and tomllib.loads(text)["b"] == inside


def test_bytes_that_are_not_utf_8_are_refused_with_their_position():
    with pytest.raises(InputError, match="byte 5 is not UTF-8"):
        toml_text(b'a = "\xff"', "x.toml")
