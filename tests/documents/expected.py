"""Documents written for these tests. Their expected findings were written before the checker first read
the documents.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tuilab.documents import DocumentReport, read
from tuilab.documents.api.tables import shipped

DATA = Path(__file__).parent / "data"
SUFFIX = ".expected.toml"


class Expected(msgspec.Struct, forbid_unknown_fields=True):
    """The expected result for a document. In `findings`, `at` is a text on the finding's line. If several
    lines contain it, `nth` selects one (from 1; the default is the first).
    """

    examples: int
    findings: list[dict[str, Any]] = []
    presets: list[dict[str, Any]] = []
    title: str = ""
    date: str = ""
    id: str = ""


def documents() -> list[Path]:
    return [file.with_name(file.name.removesuffix(SUFFIX)) for file in sorted(DATA.glob("*" + SUFFIX))]


def expectations(document: Path) -> Expected:
    text = document.with_name(document.name + SUFFIX).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Expected)


def expected_findings(expected: Expected, lines: Sequence[str]) -> set[tuple[str, int]]:
    return {(f["code"], line_of(lines, f["at"], f.get("nth", 1))) for f in expected.findings}


def line_of(lines: Sequence[str], text: str, nth: int = 1) -> int:
    return [number for number, line in enumerate(lines, start=1) if text in line][nth - 1]


def report_of(document: Path) -> DocumentReport:
    return read(document, shipped())


def found_findings(report: DocumentReport) -> set[tuple[str, int]]:
    return {(f.code, f.line) for example in report.examples for f in example.findings}


def fits(preset: Any, wanted: Mapping[str, Any], example: int) -> bool:
    """Return True if a preset made from example number `example` agrees with `wanted`: the same example,
    workload, arms and parameters, and at least the claims in `wanted`. Ignores the preset's dtype if `wanted`
    lists dtypes.
    """
    if (preset.workload, example) != (wanted["workload"], wanted["example"]):
        return False
    arms = preset.arms
    chosen = {key: value for key, value in wanted.items() if key in ("devices", "modes", "dtypes")}
    if any(list(getattr(arms, key)) != value for key, value in chosen.items()):
        return False
    parameters = dict(preset.parameters)
    if "dtypes" in wanted:
        parameters.pop("dtype")
    kinds = [claim.when.__struct_config__.tag for claim in preset.claims]
    return parameters == wanted["parameters"] and set(wanted.get("claims", ())) <= set(kinds)
