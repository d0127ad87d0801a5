"""Documents of as many styles as people write: what is wrong was written down before the first reading."""

import tomllib
from pathlib import Path

import pytest

from tests.documents.expected import line_of
from tuilab.documents import read
from tuilab.documents.api.tables import shipped

FOLDER = Path(__file__).parent / "data" / "styles"
EXPECTED = tomllib.loads((FOLDER / "expected.toml").read_text(encoding="utf-8"))


def wanted_and_found(name: str) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    """Return (code, line) of the labelled faults, and of all findings other than notes."""
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


def test_the_documents_of_the_world_are_many_and_their_findings_were_judged():
    """The files are not kept: repository, commit and path say where they lie."""
    world = rows("wild.tsv")
    assert len(world) >= 200 and len({repository for repository, _, _ in world}) >= 30
    assert all(len(commit) == 40 for _, commit, _ in world)
    judged = rows("judged.tsv")
    known = {(repository, path) for repository, _, path in world}
    assert {(repository, path) for _, repository, path, *_ in judged} <= known
    assert len(judged) >= 100
    for code in {row[0] for row in judged}:
        verdicts = [row[-1] for row in judged if row[0] == code]
        assert len(verdicts) <= 15
        assert len(verdicts) < 5 or verdicts.count("right") / len(verdicts) >= 0.9
    assert [row[-1] for row in judged].count("right") / len(judged) >= 0.9


def test_of_fresh_documents_three_quarters_of_the_faults_are_told():
    """The table says what was labelled before the checker read them, what it told then, and what it tells now."""
    held = rows("held.tsv")
    seen = {(row[0], row[2]) for name in ("wild.tsv", "further.tsv") for row in rows(name)}
    assert not {(row[0], row[2]) for row in held} & seen, "a document that was looked at is not fresh"
    faults = [row for row in held if row[4] != "none"]
    assert len(faults) >= 80 and len({(row[0], row[2]) for row in held}) >= 25
    for row in held:
        assert len(row) == 7 and len(row[1]) == 40
        assert {*row[5:]} <= {"default", "note", "missed", "quiet"}
    assert [row[6] for row in faults].count("default") / len(faults) >= 0.75
    ruled = [row[6] for row in faults if row[4] != "other"]
    assert 1 - ruled.count("missed") / len(ruled) >= 0.9


def rows(name: str) -> list[list[str]]:
    lines = (FOLDER.parent / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]
