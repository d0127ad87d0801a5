"""Five documents in our own words that resemble the articles behind the presets. Also tests the articles
themselves, if present.
"""

from pathlib import Path

import pytest

from tests.documents.expected import report_of
from tuilab import catalogue
from tuilab.catalogue.validate import validate
from tuilab.model.parameters import check_values
from tuilab.model.preset import Preset
from tuilab.paths import shipped_folder
from tuilab.workloads import find

OURS = Path(__file__).parent / "data" / "five"
THEIRS = Path(__file__).resolve().parents[3] / "shared" / "documents"
FILES = {"ours": sorted(OURS.glob("*.md")), "theirs": sorted(THEIRS.glob("*.txt")) if THEIRS.is_dir() else []}

# Mistakes in our documents, from a manual review: (document, example) → (code, line).
WRONG_OF_OURS = {
    ("000", 1): {
        ("TL306", 9),
        ("TL106", 23),
        ("TL107", 26),
        ("TL301", 27),
        ("TL101", 28),
        ("TL301", 33),
        ("TL302", 33),
        ("TL101", 34),
    },
    ("000", 2): {
        ("TL106", 56),
        ("TL107", 59),
        ("TL301", 60),
        ("TL302", 60),
        ("TL101", 61),
        ("TL301", 68),
        ("TL101", 69),
        ("TL306", 78),
    },
    ("000", 3): {
        ("TL001", 92),
        ("TL106", 95),
        ("TL107", 98),
        ("TL301", 99),
        ("TL302", 99),
        ("TL101", 100),
        ("TL001", 105),
        ("TL301", 108),
        ("TL101", 109),
    },
    ("001", 1): {("TL201", 23), ("TL105", 37), ("TL107", 37)},
    ("001", 2): {("TL303", 62), ("TL105", 73), ("TL107", 73)},
    ("001", 3): {("TL107", 90), ("TL103", 93), ("TL112", 101), ("TL103", 102)},
    ("002", 1): {("TL306", 6), ("TL308", 8), ("TL102", 19), ("TL305", 19), ("TL006", 23)},
    ("002", 2): {("TL005", 34), ("TL307", 38)},
    ("002", 3): set(),
    ("003", 1): {("TL307", 6), ("TL304", 16), ("TL001", 19)},
    ("003", 2): {("TL001", 28)},
    ("003", 3): {("TL003", 41), ("TL004", 42), ("TL004", 43), ("TL307", 48)},
    ("004", 1): {("TL107", 32), ("TL109", 33), ("TL110", 33)},
    ("004", 2): {("TL303", 61), ("TL107", 66), ("TL109", 67), ("TL110", 67)},
    ("004", 3): {("TL401", 110), ("TL303", 111), ("TL107", 116), ("TL109", 117), ("TL110", 117)},
}
# Mistakes in other authors' documents, all of which must be found.
WRONG = {
    ("000", 1): {
        ("TL301", 38),  # outside any device scope
        ("TL301", 46),
        ("TL101", 39),  # computed once, before any timing, so both figures time an empty loop
        ("TL101", 47),
        ("TL106", 33),  # the warm-up has no effect
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
# Further findings in other authors' documents, each confirmed by a manual review.
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
# examples that no workload measures
GAPS = {("003", 3): "reads a counter"}


@pytest.fixture(scope="module", params=FILES)
def reports(request):
    """Return the reports by document number, for our documents and for the original articles."""
    if len(FILES[request.param]) != 5:
        pytest.skip(f"the five documents are not in {THEIRS.name}/")
    return {file.name[:3]: report_of(file) for file in FILES[request.param]}


@pytest.fixture
def wrong(request, reports):
    """Return the findings that must be reported, by document and example. No other findings may appear."""
    if request.node.callspec.params["reports"] == "ours":
        return WRONG_OF_OURS
    return {key: found | ALSO.get(key, set()) for key, found in WRONG.items()}


def test_fifteen_examples_with_their_headings(reports):
    assert sorted(reports) == ["000", "001", "002", "003", "004"]
    for number, report in reports.items():
        assert [e.number for e in report.examples] == [1, 2, 3]
        assert all(e.heading for e in report.examples)
        assert report.document.number == number
        assert report.document.title and report.document.date.startswith("2025-") and report.document.id


def found(reports, key):
    document, number = key
    return {(f.code, f.line) for f in reports[document].examples[number - 1].findings}


@pytest.mark.parametrize("key", WRONG, ids=lambda k: f"{k[0]}-{k[1]}")
def test_every_fault_is_found_and_no_other(reports, wrong, key):
    assert found(reports, key) == wrong[key]


def shipped(document: str, example: int) -> list[Preset]:
    presets = catalogue.load(shipped_folder()).presets
    return [p for p in presets if p.source and (p.source.document, p.source.example) == (document, example)]


def equal(made: Preset, wanted: Preset) -> bool:
    """Return True if the preset `made`, from the document, matches the shipped preset `wanted`."""
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
