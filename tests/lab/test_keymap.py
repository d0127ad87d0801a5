from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.presentation import keymap

IDS = {"run", "stop", "sweep", "slider.less"}


def read(tmp_path: Path, content: str | bytes) -> tuple[dict[str, str], list[str]]:
    file = tmp_path / "keymap.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return keymap.read(file, lambda: IDS)


def test_a_missing_file_is_not_an_error(tmp_path):
    assert keymap.read(tmp_path / "none.toml", lambda: pytest.fail("nobody needs them")) == ({}, [])


def test_a_valid_keymap_is_read(tmp_path):
    keys, problems = read(tmp_path, '[keys]\nrun = "m, f5"\n"slider.less" = "h"\n')
    assert keys == {"run": "m,f5", "slider.less": "h"} and problems == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[keys]\nrnu = "m"', "rnu: unknown action; did you mean run?"),
        ("[keys]\nrun = 3", 'expected keys such as "r"'),
        ('[keys]\nrun = "a b"', "expected a key such as"),
        ('[keys]\nrun = "m"\nstop = "m"', "the key m is assigned to both run and stop"),
        ("keys = 3", "expected a table"),
        ("[colors]\na = 1", "expected one table, [keys]"),
        ("[keys", "not valid TOML"),
        (b"\xff\xfe", "could not be read"),
        ('[keys]\n"\\u001b[31m" = "m"', "unknown action"),
    ],
)
def test_errors_in_a_keymap_are_reported(tmp_path, content, said):
    _, problems = read(tmp_path, content)
    assert any(said in problem for problem in problems), problems
    assert all("\x1b" not in problem for problem in problems)


def test_the_valid_lines_of_a_bad_file_apply(tmp_path):
    keys, problems = read(tmp_path, '[keys]\nrnu = "m"\nstop = "z"\n')
    assert keys == {"stop": "z"} and len(problems) == 1


def test_the_same_key_in_two_places_does_not_clash():
    assert keymap.clashes({"run": "h", "slider.less": "h"}) == []


@given(st.binary(max_size=300))
def test_no_file_breaks_it(tmp_path_factory, content):
    keys, problems = read(tmp_path_factory.mktemp("keys"), content)
    assert isinstance(keys, dict) and all(isinstance(p, str) for p in problems)


def test_a_circular_or_dangling_link_is_reported(tmp_path):
    for name in ("keymap.toml", "nowhere"):
        file = tmp_path / "keymap.toml"
        file.symlink_to(name)
        keys, (said,) = keymap.read(file, lambda: IDS)
        assert not keys and "could not be read" in said
        file.unlink()
    assert keymap.read(tmp_path / "no folder" / "keymap.toml", lambda: IDS) == ({}, [])
