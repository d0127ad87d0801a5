import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.documents.expected import DATA
from tuilab import catalogue
from tuilab.cli.check import check
from tuilab.cli.import_ import import_
from tuilab.documents import RULES
from tuilab.lab import opening
from tuilab.model.errors import InputError

ARCHIVE = str(DATA / "archive.md")


def call(command, *words: str, data: bytes | None = None):
    return CliRunner().invoke(command, list(words), input=data)


def test_check_prints_the_stated_object():
    result = json.loads(call(check, ARCHIVE, "--json").stdout)
    assert {"schema", "tensorflow", "target", "files", "summary"} == set(result)
    assert result["schema"] == 1 and result["tensorflow"] == "2.21.0"
    (file,) = result["files"]
    assert file["path"].endswith("archive.md") and file["error"] is None
    fields = "code severity line column cell cell_line message remedy also fix"
    assert set(fields.split()) == set(file["findings"][0])
    assert file["document"] == {"title": "Packing tensors", "date": "2023-11-30", "id": "archive"}
    first, second, third = file["examples"]
    assert list(first) == ["number", "heading", "line", "findings", "presets", "unresolved"]
    assert (second["number"], second["heading"]) == (2, "How much fits?")
    assert {"code", "line", "message", "remedy"} <= set(second["findings"][0])
    assert list(first["presets"][0]) == ["name", "workload", "parameters", "arms", "lines"]
    assert first["presets"][0]["parameters"] == {"elements": 4_000_000, "level": 9}
    assert list(second["unresolved"][0]) == ["line", "reason"]
    assert [f["code"] for f in third["findings"]] == ["TL003", "TL002"]


def test_full_shows_examples_presets_and_what_was_not_understood():
    text = call(check, ARCHIVE, "--format", "full", "--preview").stdout
    assert "Packing tensors (2023-11-30)" in text
    assert "TL307" in text and "→" in text and "archive-1-compression" in text
    assert "?" in text
    assert all(len(line) <= 100 for line in text.splitlines() if not line.startswith("/"))


def test_text_is_a_line_a_finding_and_the_summary_is_narration():
    result = call(check, ARCHIVE)
    lines = result.stdout.splitlines()
    assert re.fullmatch(r".*archive\.md:\d+:\d+: TL\d{3} .*", lines[0])
    assert lines[1].startswith("    → ")
    assert result.stderr.strip().startswith("1 file checked: ")
    assert "TL307" not in result.stdout


def test_standard_input_is_a_dash():
    data = Path(ARCHIVE).read_bytes()
    result = json.loads(call(check, "-", "--json", data=data).stdout)
    (file,) = result["files"]
    assert file["document"]["title"] == "Packing tensors"
    assert len(file["examples"]) == 3 and file["path"] == "<stdin>"


@pytest.mark.parametrize("words, data", [(("-",), b" \n"), (("no-such-file.md",), None), ((), None)])
def test_nothing_to_read_is_bad_input(words, data):
    assert isinstance(call(check, *words, data=data).exception, InputError)


def test_the_rules_are_in_the_help():
    text = call(check, "--rules").stdout
    for rule in RULES:
        assert rule.code in text and rule.title in text
    rows = json.loads(call(check, "--rules", "--json").stdout)
    assert [row["code"] for row in rows] == [rule.code for rule in RULES]


def test_import_writes_presets_that_the_catalogue_takes(tmp_path):
    out = call(import_, ARCHIVE, "-o", str(tmp_path))
    names = sorted(file.stem for file in tmp_path.iterdir())
    assert [Path(line).stem for line in out.stdout.split()] == ["archive-1-compression", "archive-2-memory"]
    found = catalogue.load(tmp_path)
    assert found.problems == () and sorted(p.name for p in found.presets) == names
    assert "line 31" in out.stderr


def test_import_keeps_what_a_person_changed(tmp_path):
    call(import_, ARCHIVE, "-o", str(tmp_path))
    mine = tmp_path / "archive-2-memory.toml"
    mine.write_text("# mine")
    again = call(import_, ARCHIVE, "-o", str(tmp_path))
    assert isinstance(again.exception, InputError) and "archive-2-memory" in str(again.exception)
    assert mine.read_text() == "# mine"
    assert call(import_, ARCHIVE, "-o", str(tmp_path), "--overwrite").exception is None
    assert "memory" in mine.read_text()


def test_import_of_a_document_without_benchmarks(tmp_path):
    result = call(import_, "-", "-o", str(tmp_path / "new"), data=b"Just text.")
    assert isinstance(result.exception, InputError)
    assert not (tmp_path / "new").exists()


def test_without_names_it_continues_and_reports_that(monkeypatch):
    monkeypatch.setattr(opening.tables, "for_installed", lambda: None)
    result = call(check, ARCHIVE, "--no-worker", "--json")
    assert "not checked" in json.loads(result.stdout)["files"][0]["examples"][0]["unresolved"][0]["reason"]


def test_unknown_names_are_requested_only_once(monkeypatch, tmp_path):
    kept = []
    table = opening.tables.shipped()

    async def ask():
        kept.append(1)
        return table

    monkeypatch.setattr(opening.tables, "folder", lambda: tmp_path)
    monkeypatch.setattr(opening.tables, "SHIPPED_VERSION", "0.0.0")
    monkeypatch.setattr(opening.tables, "installed_version", lambda: "2.21.0")
    monkeypatch.setattr(opening, "_ask", ask)
    for _ in range(2):
        assert "TL003" in call(check, ARCHIVE, "--json").stdout
    assert kept == [1]


def test_the_process_imports_no_tensorflow_and_nothing_reaches_the_terminal_raw(tmp_path):
    document = tmp_path / "x.md"
    document.write_bytes(
        b"# \x1b]0;title\x07\n\n```python\nimport tensorflow as tf\ntf.\xc2\x9bx(1)\n```\n\x1b[2J"
    )
    code = (
        "import sys, tuilab.__main__ as m\nsys.argv = ['tuilab', 'check', sys.argv[1]]\n"
        "try: m.main()\nfinally: print([n for n in ('tensorflow', 'keras', 'textual') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(document)], capture_output=True, timeout=60, check=True
    )
    assert done.stdout.endswith(b"[]\n")
    assert b"\x1b" not in done.stdout + done.stderr
    assert "\x9b" not in done.stdout.decode()
