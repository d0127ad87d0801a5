"""Documents with expected examples, presets and findings. The expected findings were written before the
checker first read the documents.
"""

import pytest

from tests.documents.expected import (
    documents,
    expectations,
    expected_findings,
    fits,
    found_findings,
    report_of,
)

DOCUMENTS = documents()
CORRECT = ("helper_function.md", "correct_sweep.py", "correct_training.md")


def test_there_are_a_dozen_at_least():
    assert len(DOCUMENTS) >= 12


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_examples_and_front_matter(document):
    expected, report = expectations(document), report_of(document)
    assert len(report.examples) == expected.examples
    assert [e.number for e in report.examples] == list(range(1, expected.examples + 1))
    for key in ("title", "date", "id"):
        wanted = getattr(expected, key)
        assert not wanted or getattr(report.document, key) == wanted


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_presets_are_those_expected(document):
    report = report_of(document)
    made = [(example.number, preset) for example in report.examples for preset in example.presets]
    for wanted in expectations(document).presets:
        assert any(fits(preset, wanted, number) for number, preset in made), (wanted, made)
    if not expectations(document).presets:
        assert not made


def test_recall_and_precision_of_findings():
    right = found = wanted = 0
    for document in DOCUMENTS:
        report = report_of(document)
        expected = expected_findings(expectations(document), report.lines)
        got = found_findings(report)
        right, found, wanted = right + len(got & expected), found + len(got), wanted + len(expected)
    assert wanted >= 25
    assert right / wanted >= 0.9
    assert right / found >= 0.9


@pytest.mark.parametrize("name", CORRECT)
def test_correct_benchmarks_have_no_findings(name):
    (document,) = [d for d in DOCUMENTS if d.name == name]
    assert not expectations(document).findings
    assert found_findings(report_of(document)) == set()
