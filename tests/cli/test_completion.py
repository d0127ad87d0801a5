import pytest

from tests.calling import here
from tuilab.catalogue.load import load
from tuilab.model.errors import InputError


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
def test_bash_completes_commands_and_options(
    typed: str, offered: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"_TUILAB_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    for name, value in {**place, "TUILAB_DATA": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    assert offered in [line.partition(",")[2] for line in here().stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_completion_script(shell: str) -> None:
    script = here("completion", shell).stdout
    assert "_TUILAB_COMPLETE" in script and f"{shell}_complete" in script


def test_a_mistyped_name_suggests_the_right_one() -> None:
    with pytest.raises(InputError, match="did you mean stft-small\\?"):
        load().find("stft-smal")
    with pytest.raises(InputError) as told:
        load().find("zzzzzz")
    assert "did you mean" not in str(told.value)
