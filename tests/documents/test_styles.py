"""Documents in many styles. Their mistakes were noted before the checker first read the documents."""

import tomllib
from pathlib import Path

import pytest

from tests.documents.expected import line_of
from tuilab.documents import read
from tuilab.documents.api.tables import shipped

FOLDER = Path(__file__).parent / "data" / "styles"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))


def wanted_and_found(name: str) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    report = read(FOLDER / name, shipped(), preview=False)
    wanted = {
        (f["code"], line_of(report.lines, f["at"], f.get("nth", 1))) for f in EXPECTED[name]["findings"]
    }
    found = {(f.code, f.line) for e in report.examples for f in e.findings if f.severity != "note"}
    return wanted, found


def test_every_document_is_expected():
    assert {file.name for file in FOLDER.iterdir() if file.is_file()} - {"expected.toml"} == set(EXPECTED)
    assert len(EXPECTED) >= 20


def test_recall_and_precision():
    pairs = [wanted_and_found(name) for name in EXPECTED]
    right = sum(len(wanted & found) for wanted, found in pairs)
    assert right / sum(len(wanted) for wanted, _ in pairs) >= 0.9
    assert right / sum(len(found) for _, found in pairs) >= 0.95


@pytest.mark.parametrize("name", [name for name in EXPECTED if not EXPECTED[name]["findings"]])
def test_correct_documents_have_no_finding(name):
    assert wanted_and_found(name) == (set(), set())
