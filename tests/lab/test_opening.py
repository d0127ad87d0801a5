import io
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.lab.opening import FIRST, document, offered, read_stdin
from tuilab.model.errors import InputError


@pytest.mark.parametrize("character", ["é", "€", "😀"])
def test_a_document_may_have_a_character_at_the_end_of_its_first_part(tmp_path: Path, character: str) -> None:
    for offset in range(1, 5):
        file = tmp_path / f"{offset}.md"
        file.write_text("x" * (FIRST - offset) + character + "\n\nThe end.\n", encoding="utf-8")
        assert document(str(file)).examples == ()


@pytest.mark.parametrize("data", [b"\0" * 100, bytes(range(128, 256)) * 4, b"text\xff\xff\xff\xff"])
def test_a_binary_file_is_not_a_document(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "model.md"
    file.write_bytes(data)
    with pytest.raises(InputError, match="binary data"):
        document(str(file))


TIMED = """import time
import tensorflow as tf
x = tf.random.normal((256, 256))
t = time.perf_counter()
y = tf.matmul(x, x)
print(time.perf_counter() - t)
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("print(1)", ["run and watch it"]),
        ('def f():\n    "Do it."', ["f"]),
        ("def f(): ...\nf()", ["run and watch it", "f"]),
        ("A = 1", []),
        (TIMED, ["run and watch it", "check its benchmarks for mistakes"]),
        (
            "def f():\n    " + TIMED.replace("\n", "\n    ") + "\nA = f()",
            ["f", "check its benchmarks for mistakes"],
        ),
    ],
)
def test_a_python_file_is_opened_in_each_way_that_fits(text: str, names: list[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    offers = offered(str(file), read(text.encode(), shipped(), name="mine.py", preview=False))
    assert [offer.label for offer in offers] == names
    ways = {"run and watch it": f"watch {file}", "check its benchmarks for mistakes": f"check {file}"}
    assert [offer.key for offer in offers] == [ways.get(name, f"{file}:{name}") for name in names]


def test_an_empty_document_from_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (b"", b" \n"):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        with pytest.raises(InputError, match="standard input: got ''; expected a document"):
            read_stdin()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b" text")))
    assert read_stdin() == b" text"
