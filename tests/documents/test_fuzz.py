"""No document crashes the checker, makes it run any code, or reaches the terminal unescaped."""

import re
import sys
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from tests.documents.expected import documents, report_of
from tests.documents.fuzz import inputs, names
from tuilab.cli.check import full
from tuilab.documents import DocumentReport, dumps, read
from tuilab.documents.api.tables import shipped
from tuilab.documents.api.versions import supported_versions
from tuilab.documents.checker import files, output
from tuilab.documents.checker.settings import CheckSettings
from tuilab.documents.reading.parse import NOWHERE

LONG = 20_000
_RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# Audit events of a document that runs code: imports, files, processes.
_FORBIDDEN = ("import", "open", "exec", "subprocess.Popen", "os.system", "os.remove", "socket.connect")

_seen: list[str] = []
_watching = False


def printed(report) -> list[str]:
    result = files.result_of(
        report, "x.md", files.CheckJob(None, CheckSettings(level="note", preview=True), whole=True)
    )
    return [
        *full(result, CheckSettings(level="note")),
        *output.text([result], "note"),
        *output.github([result], "note"),
        *output.sarif([result], "note").split("\n"),
        *output.as_json([result], "", "auto", "note").split("\n"),
    ]


def _audit(event: str, args: tuple[object, ...]) -> None:
    if _watching and event in _FORBIDDEN and args[:1] != (NOWHERE,):
        _seen.append(f"{event} {args!r}"[:200])


sys.addaudithook(_audit)


@pytest.fixture(scope="module", autouse=True)
def warm() -> Iterator[None]:
    for document in documents():
        report_of(document)
    supported_versions()  # loads the names of other versions, which a document may need
    yield


def checked(data: bytes, name: str) -> DocumentReport:
    """Check a document while an audit hook watches imports, files and processes."""
    global _watching
    _seen.clear()
    _watching = True
    try:
        report = read(data, shipped(), name=name)
    finally:
        _watching = False
    assert not _seen
    return report


def hold(data: bytes, name: str) -> None:
    report = checked(data, name)
    texts = [*report.lines, *(note.reason for note in report.notes), *printed(report)]
    for example in report.examples:
        assert 1 <= example.line <= example.last_line <= len(report.lines)
        texts += [example.heading, *(u.reason for u in example.unresolved)]
        for finding in example.findings:
            assert 1 <= finding.line <= len(report.lines)
            texts += [finding.message, finding.remedy]
        for preset in example.presets:
            assert re.fullmatch("[a-z0-9][a-z0-9_-]{0,63}", preset.name)
            texts += [preset.title, *preset.wrong.split("\n"), *(c.quoted for c in preset.claims)]
            dumps(preset)
    for text in texts:
        assert not _RAW.search(text), text
    msgspec.json.encode(report.check())


relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)


@given(inputs, names)
@settings(relaxed, max_examples=300)
def test_any_input_is_read_without_harm(data: bytes, name: str) -> None:
    hold(data, name)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@given(inputs, names)
@settings(relaxed, max_examples=LONG)
def test_any_input_is_read_without_harm_at_length(data: bytes, name: str) -> None:
    hold(data, name)


def test_code_that_would_show_itself_does_not_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code = (
        "import tuilab_canary_never_imported\nopen('canary', 'w').write('x')\nprint('canary')\n"
        "exec(\"open('canary', 'w')\")\n__import__('tuilab_canary_never_imported')\nraise SystemExit(3)\n"
        "def f(x=open('canary', 'w')): ...\n"
        "@print\nclass A(open('canary', 'w').__class__): x = print('canary')\n"
        "x = [print('canary') for _ in range(3)]\n\"\\d\"\n"
    )
    report = checked(f"```python\n{code}```\n".encode(), "x.md")
    assert len(report.examples) == 1
    assert list(tmp_path.iterdir()) == []
    assert "tuilab_canary_never_imported" not in sys.modules
    assert capfd.readouterr() == ("", "")


def test_the_watch_would_see_it(tmp_path):
    """Proves that the audit hook notices an opened file."""
    global _watching
    _seen.clear()
    _watching = True
    (tmp_path / "x").open("w").close()
    _watching = False
    assert _seen


@pytest.mark.parametrize(
    "code",
    [
        "(" * 50_000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "1+" * 50_000 + "1",
        "x = a" + ".b" * 50_000,
        "x = " + "[" * 90 + "]" * 90,
        "\n".join("  " * n + "if x:" for n in range(95)) + "\n" + "  " * 95 + "pass",
        "if x: pass\n" + "elif y: pass\n" * 5_000,
        "def f(x): return f(x) + f(x)\nf(1)",
        "def f(): return g()\ndef g(): return f()\nf()",
        "x = 9" + "9" * 10_000,
        "x = 2 ** 2 ** 2 ** 2 ** 2 ** 2\ny = x << x",
        "x = []\nx.append(x)\nimport tensorflow as tf\ny = tf.constant(x)\nprint(x)",
        "d = {}\nd['d'] = d\nimport tensorflow as tf\ntf.add(d, d)",
        "class A(A): pass\nclass B(B): pass\nB().x()",
        "\n".join(f"def f{n}(): f{n - 1}(); f{n - 1}()" for n in range(1, 60)) + "\nf59()",
    ],
    ids=lambda code: code[:16],
)
def test_hostile_code_is_read_in_bounds(code):
    hold(code.encode(), "x.py")
