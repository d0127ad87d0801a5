"""What a typed path is: a person's own code, a preset file, a recording, or a document."""

from pathlib import Path
from typing import Literal

from tuilab.catalogue.load import Problem, read_file
from tuilab.catalogue.validate import validate
from tuilab.documents import DocumentReport, read_installed
from tuilab.model.errors import InputError
from tuilab.model.preset import Preset
from tuilab.model.workload import Declaration

Kind = Literal["code", "preset", "recording", "document"]


def kind(words: str) -> Kind:
    """`model.py:forward` is code, `*.toml` a preset, `*.jsonl` a recording, all else a document."""
    if ".py:" in words:
        return "code"
    suffix = Path(words).suffix.lower()
    return "preset" if suffix == ".toml" else "recording" if suffix == ".jsonl" else "document"


def preset_file(words: str) -> Preset:
    """The preset in a file. Raises InputError with what is wrong with it."""
    read = read_file(Path(words).expanduser())
    if isinstance(read, Problem):
        raise InputError(f"preset file {read.file}", read.key, read.message)
    return read


def document(words: str) -> DocumentReport:
    """A document, read and checked. Raises InputError."""
    return read_installed(Path(words).expanduser(), validate=validate)


def own(declaration: Declaration, words: str) -> Preset:
    """A person's own code as a preset without claims."""
    return Preset(
        title=declaration.title or words, workload=declaration.name, name=declaration.name,
        summary=declaration.summary,
    )  # fmt: skip
