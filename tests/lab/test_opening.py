"""Documents are read as text; binary files are refused."""

from pathlib import Path

import pytest

from tuilab.lab.opening import FIRST, document
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
