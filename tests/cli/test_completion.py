"""A shell completes commands, presets, parameters and runs; a name that is nearly right gets the right one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuilab.catalogue.load import load
from tuilab.model.errors import InputError


def completed(words: str, tmp_path: Path, shell: str = "bash") -> list[str]:
    """What bash would offer for the last word."""
    environment = {
        **os.environ, "TUILAB_DATA": str(tmp_path), "_TUILAB_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1),
    }  # fmt: skip
    tuilab = Path(sys.executable).with_name("tuilab")
    done = subprocess.run([tuilab], env=environment, capture_output=True, text=True, timeout=60)
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("tuilab sw", "sweep"),
        ("tuilab run stft-s", "stft-small"),
        ("tuilab run stft-small --set sam", "samples="),
        ("tuilab run stft-small --bud", "--budget"),
        ("tuilab export la", "last"),
    ],
)
def test_bash_completes(typed: str, offered: str, tmp_path: Path) -> None:
    assert offered in completed(typed, tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    words = [sys.executable, "-m", "tuilab", "completion", shell]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert "_TUILAB_COMPLETE" in done.stdout and f"{shell}_complete" in done.stdout


def test_a_name_that_is_nearly_right_gets_the_right_one() -> None:
    with pytest.raises(InputError, match="did you mean stft-small\\?"):
        load().find("stft-smal")
    with pytest.raises(InputError) as told:
        load().find("zzzzzz")
    assert "did you mean" not in str(told.value)
