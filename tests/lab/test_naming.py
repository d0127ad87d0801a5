from pathlib import Path

import pytest

from tuilab.lab.naming import does_something, functions, refuse, resolve
from tuilab.model.errors import InputError
from tuilab.model.subject import Article, Code, Model, NamedPreset, Program, Recording, Script, Subject

MINE = """import tensorflow as tf

def step(x, y=1): ...

def ready(*, z=2):
    '''Do it.

    At once.
    '''

def _own(): ...

class Net:
    def call(self): ...
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path / "mine.py"


def wrong(words: str) -> str:
    with pytest.raises(InputError) as error:
        resolve(words)
    return str(error.value)


def test_a_name_in_a_file_must_be_defined_there(mine: Path, tmp_path: Path) -> None:
    for name in ("step", "Net.call", "_own", "tf"):
        assert resolve(f"{mine}:{name}") == Code(str(mine), name)
    other = f"{mine}:stop: got 'stop'; expected a name defined in mine.py: Net, ready, step, tf"
    assert wrong(f"{mine}:stop") == other
    many = tmp_path / "many.py"
    many.write_text("".join(f"def f{number}(): ...\n" for number in range(10)))
    assert wrong(f"{many}:g").endswith(f"many.py: {', '.join(f'f{number}' for number in range(8))}")
    many.write_text("")
    assert wrong(f"{many}:g").endswith("expected a name defined in many.py: nothing")
    many.unlink()
    assert wrong(f"{many}:g") == f"{many}: there is no such file"


@pytest.mark.parametrize(
    "text", ["from own import *", "def __getattr__(name): ...", "globals().update(a=1)", "exec('a = 1')"]
)
def test_a_file_that_may_define_any_name_is_not_refused(text: str, mine: Path) -> None:
    mine.write_text(text)
    assert resolve(f"{mine}:anything") == Code(str(mine), "anything")


def test_a_model_is_a_file_or_a_folder_with_a_graph(tmp_path: Path) -> None:
    saved, file = tmp_path / "saved", tmp_path / "net.keras"
    saved.mkdir()
    file.touch()
    assert resolve(str(file)) == Model(str(file))
    assert wrong(str(tmp_path / "other.H5")) == f"{tmp_path}/other.H5: there is no such file"
    lacks = "expected a folder with saved_model.pb, as written by tf.saved_model.save"
    assert wrong(str(saved)) == f"{saved}: got 'a folder'; {lacks}"
    (saved / "saved_model.pb").touch()
    assert resolve(str(saved)) == Model(str(saved)) and resolve(f"{saved}:serve") == Model(
        str(saved), "serve"
    )


def test_a_bare_word_is_a_preset_unless_a_file_or_model_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve("saved") == NamedPreset("saved")
    Path("saved").mkdir()
    assert resolve("saved") == Article("saved")
    Path("saved/saved_model.pb").touch()
    assert resolve("saved") == Model(str(tmp_path / "saved"))
    assert resolve("a/b") == Article("a/b") and resolve("check x.py") == Article("x.py")


def test_functions_that_need_arguments_come_last(mine: Path) -> None:
    assert list(functions(str(mine)).items()) == [("ready", "Do it."), ("step", "called with x")]


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("", False),
        ("'Two words.'\nA = 1\nB: int = 2\nimport os\ndef f(): ...\nclass C: ...", False),
        ("print(1)", True),
        ("for _ in (): ...", True),
    ],
)
def test_only_files_that_do_more_than_define_are_programs(text: str, does: bool, mine: Path) -> None:
    mine.write_text(text)
    assert does_something(str(mine)) is does


@pytest.mark.parametrize("text", ["x = (", "x = 1\0"])
def test_invalid_python_is_refused(text: str, mine: Path) -> None:
    mine.write_text(text)
    assert "not valid Python" in wrong(f"{mine}:x")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(): ...\ndef g(): ...", "name one of its functions (FILE:f, FILE:g)"),
        ("def f(): ...\nf()", "name one of its functions (FILE:f), or as a whole program: tuilab watch FILE"),
        ("print(1)", "run it as a whole program: tuilab watch FILE"),
        ("", "run it as a whole program: tuilab watch FILE"),
    ],
)
def test_a_file_in_place_of_a_preset_is_refused_with_its_uses(text: str, told: str, mine: Path) -> None:
    mine.write_text(text)
    assert str(refuse(str(mine), Script(str(mine)))) == f"{mine}: {told.replace('FILE', str(mine))}"


def test_another_subject_in_place_of_a_preset_is_refused_with_its_command() -> None:
    for words, subject, what, command in (
        ("a.jsonl", Recording("a.jsonl"), "a recording", "tuilab --replay a.jsonl"),
        ("watch t.py", Program("t.py"), "a program", "tuilab watch t.py"),
        ("t.py 1", Program("t.py", ("1",)), "a program", "tuilab watch t.py 1"),
        ("check a.md", Article("a.md"), "an article", "tuilab check a.md"),
        ("m.py:f", Code("m.py", "f"), "own code", "tuilab run m.py:f"),
        ("m.keras", Model("m.keras"), "a model", "tuilab run m.keras"),
    ):
        expected = f"{words}: got {what!r}; expected a preset; for {what}: {command}"
        assert str(refuse(words, subject)) == expected


def test_a_missing_file_is_not_called_an_article(tmp_path):
    words = str(tmp_path / "model.keraz")
    with pytest.raises(InputError, match="there is no such file"):
        raise refuse(words, resolve(words))


@pytest.mark.parametrize(
    ("words", "subject"),
    [
        ("watch t.py", Program("t.py")),
        ("t.py --epochs 2", Program("t.py", ("--epochs", "2"))),
        ("watch 'my t.py' a", Program("my t.py", ("a",))),
        ("watch ", Program("")),
        ("check a.md", Article("a.md")),
        ("a.jsonl", Recording("a.jsonl")),
        ("t.PY", Script("t.PY")),
    ],
)
def test_words_name_a_subject(words: str, subject: Subject) -> None:
    assert resolve(words) == subject


def test_a_file_with_a_space_in_its_name_is_one_program(tmp_path: Path) -> None:
    file = tmp_path / "my t.py"
    file.write_text("print(1)")
    assert resolve(f"watch {file}") == Program(str(file))
