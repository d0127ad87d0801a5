"""The five documents that the lab began with, where they are at hand; their text is not of this project."""

from pathlib import Path

import pytest

from tests.documents.expected import report_of
from tuilab import catalogue
from tuilab.catalogue.load import shipped_folder
from tuilab.catalogue.validate import validate
from tuilab.model.parameters import check_values
from tuilab.model.preset import Preset
from tuilab.workloads import find

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "documents"
FILES = sorted(FOLDER.glob("*.txt")) if FOLDER.is_dir() else []
pytestmark = pytest.mark.skipif(len(FILES) != 5, reason=f"the five documents are not in {FOLDER.name}/")

# Document, example → what is wrong with it as a measurement: (code, line). Every one must be found.
WRONG = {
    ("000", 1): {
        ("TL301", 38),  # outside of the device scopes
        ("TL301", 46),
        ("TL101", 39),  # computed once, before any timing, so both figures time an empty loop
        ("TL101", 47),
        ("TL106", 33),  # the warm-up warms nothing
        ("TL107", 37),  # time.time()
    },
    ("000", 2): {("TL101", 85), ("TL101", 98), ("TL306", 107)},
    ("000", 3): {("TL001", 122), ("TL001", 145), ("TL101", 138), ("TL101", 152)},
    ("001", 1): {("TL201", 43)},
    ("001", 2): {("TL303", 100)},
    ("001", 3): {("TL112", 151)},
    ("002", 1): {("TL305", 35), ("TL006", 41)},
    ("002", 2): {("TL005", 56), ("TL307", 60)},
    ("002", 3): set(),
    ("003", 1): {("TL001", 36), ("TL304", 33)},
    ("003", 2): {("TL001", 48)},
    ("003", 3): {("TL003", 68), ("TL004", 69), ("TL004", 70)},
    ("004", 1): {("TL109", 42), ("TL110", 42)},
    ("004", 2): {("TL303", 77), ("TL110", 86)},
    ("004", 3): {("TL401", 139), ("TL303", 140)},
}
# Found as well, and true, as a person's review of every one of them found.
ALSO = {
    ("000", 1): {("TL302", 46), ("TL306", 8)},
    ("000", 2): {("TL301", 84), ("TL301", 97), ("TL302", 84), ("TL106", 79), ("TL107", 83)},
    ("000", 3): {
        ("TL106", 132),
        ("TL107", 136),
        ("TL301", 137),
        ("TL301", 151),
        ("TL302", 137),
    },
    ("001", 1): {("TL105", 67), ("TL107", 67)},
    ("001", 2): {("TL105", 117), ("TL107", 117)},
    ("001", 3): {("TL103", 142), ("TL103", 152), ("TL107", 139)},
    ("002", 1): {("TL102", 35), ("TL306", 14), ("TL308", 18)},
    ("003", 1): {("TL307", 18)},
    ("003", 3): {("TL307", 80)},
    ("004", 1): {("TL107", 41)},
    ("004", 2): {("TL107", 85), ("TL109", 86)},
    ("004", 3): {("TL107", 149), ("TL109", 150), ("TL110", 150)},
}
# No workload measures it: other views of the lab show it.
GAPS = {("003", 3): "read-out"}


@pytest.fixture(scope="module")
def reports():
    return {file.name[:3]: report_of(file) for file in FILES}


def test_fifteen_examples_with_their_headings(reports):
    assert sorted(reports) == ["000", "001", "002", "003", "004"]
    for number, report in reports.items():
        assert [e.number for e in report.examples] == [1, 2, 3]
        assert all(e.heading for e in report.examples)
        assert report.document.number == number
        assert report.document.title and report.document.date == "2025-01-30" and report.document.id


def found(reports, key):
    document, number = key
    return {(f.code, f.line) for f in reports[document].examples[number - 1].findings}


@pytest.mark.parametrize("key", WRONG, ids=lambda k: f"{k[0]}-{k[1]}")
def test_every_fault_is_found_and_no_other(reports, key):
    assert found(reports, key) == WRONG[key] | ALSO.get(key, set())


def shipped(document: str, example: int) -> list[Preset]:
    """The shipped presets of an example."""
    presets = catalogue.load(shipped_folder()).presets
    return [p for p in presets if p.source and (p.source.document, p.source.example) == (document, example)]


def equal(made: Preset, wanted: Preset) -> bool:
    """Same workload; each parameter of the document has the shipped value, or is one of its marks.

    A shipped preset may start at a smaller size than the document's, which its slider then marks; and it may
    set what the document leaves open.
    """
    if made.workload != wanted.workload:
        return False
    declaration = find(wanted.workload).declaration
    values = check_values(declaration.parameters, declaration.constraints, wanted.parameters)
    return all(
        value == values[name] or value in wanted.marks.get(name, ())
        for name, value in made.parameters.items()
    )


@pytest.mark.parametrize("key", WRONG, ids=lambda k: f"{k[0]}-{k[1]}")
def test_each_example_gives_the_shipped_preset_or_the_named_gap(reports, key):
    document, number = key
    example = reports[document].examples[number - 1]
    if key in GAPS:
        assert not example.presets
        assert any(GAPS[key] in part.reason for part in example.unresolved)
        return
    wanted = shipped(document, number)
    assert any(equal(made, one) for made in example.presets for one in wanted), (example.presets, wanted)


def test_the_workloads_take_every_preset(reports):
    for report in reports.values():
        for preset in report.presets:
            validate(preset)


def test_claims_are_quoted_as_found_and_marked(reports):
    claims = {
        (p.source.document, p.source.example, p.workload): p.claims
        for report in reports.values()
        for p in report.presets
        if p.source
    }
    (first,) = [c for c in claims["000", 1, "stft"] if c.when.__struct_config__.tag == "faster"]
    assert (first.when.a.device, first.when.b.device, first.when.by) == ("CPU", "GPU", 1.0)
    (third,) = claims["000", 3, "stft"]
    assert (third.when.a.device, third.when.by) == ("GPU", 1.5)
    for (document, _, _), found_claims in claims.items():
        text = "\n".join(reports[document].lines)
        for claim in found_claims:
            assert claim.text.startswith("Read by machine: ")
            assert claim.quoted in text
