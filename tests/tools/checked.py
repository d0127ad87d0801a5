"""Records the checker's findings in a folder of documents, compares records, and scores them against labels.

python -m tests.tools.checked record FOLDER RECORD.jsonl
python -m tests.tools.checked compare OLD.jsonl NEW.jsonl
python -m tests.tools.checked score FOLDER LABELS.tsv

Documents are in `FOLDER/<owner>+<name>/<path>`; they belong to others and are not part of this repository. A
line of labels is repository, commit, path, line (0: anywhere in it), code, verdict. `fault`: a mistake that
a person listed before the checker read the document. `right`, `pedantic` and `wrong` judge the checker's
other findings.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.model.errors import InputError

SUFFIXES = (".py", ".md", ".txt", ".ipynb", ".rst")
# NEAR is the maximum distance in lines between a reader's label and a finding. ALIKE maps codes that readers
# do not distinguish.
NEAR = 3
ALIKE = {"TL105": "TL104", "TL007": "TL001", "TL112": "TL111"}
KINDS = ("fault", "right", "pedantic", "wrong", "unjudged")


class Said(msgspec.Struct, frozen=True, order=True):
    """A finding in a record, or the parameters of a preset (`code` is "preset")."""

    path: str
    line: int
    code: str
    severity: str
    message: str


def said(folder: Path) -> Iterator[Said]:
    for file in sorted(f for f in folder.rglob("*") if f.suffix in SUFFIXES and f.is_file()):
        path = file.relative_to(folder).as_posix()
        try:
            report = read(file, shipped())
        except InputError as error:
            yield Said(path, 0, "unread", "note", error.expected)
            continue
        for example in report.examples:
            for finding in example.findings:
                yield Said(path, finding.line, finding.code, finding.severity, finding.message)
            for preset in example.presets:
                made = {"workload": preset.workload, **preset.parameters}
                yield Said(path, example.line, "preset", "note", json.dumps(made, default=str))


def load(record: Path) -> list[Said]:
    return [msgspec.json.decode(line, type=Said) for line in record.read_bytes().splitlines()]


def compare(old: list[Said], new: list[Said]) -> list[str]:
    """Return one line for each finding that disappeared (-) or appeared (+), and the counts by code."""
    one, two = Counter(old), Counter(new)
    gone, came = sorted((one - two).elements()), sorted((two - one).elements())
    lines = [f"{sign} {s.path}:{s.line} {s.code} {s.severity} {s.message}" for sign, s in _signed(gone, came)]
    for code in sorted({s.code for s in gone + came}):
        lost, won = (sum(s.code == code for s in part) for part in (gone, came))
        lines.append(f"{code}: {lost} gone, {won} came")
    return lines


def _signed(gone: list[Said], came: list[Said]) -> Iterator[tuple[str, Said]]:
    yield from sorted([("-", s) for s in gone] + [("+", s) for s in came], key=lambda pair: pair[1])


class Label(msgspec.Struct, frozen=True):
    path: str
    line: int
    code: str
    verdict: str


def labels(file: Path) -> list[Label]:
    rows = [line.split("\t") for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return [Label(f"{r[0].replace('/', '+')}/{r[2]}", int(r[3]), r[4], r[5]) for r in rows]


def fits(label: Label, finding: Said) -> bool:
    codes = {ALIKE.get(code, code) for code in (label.code, finding.code)}
    near = not label.line or abs(label.line - finding.line) <= NEAR
    return label.path == finding.path and len(codes) == 1 and near


def score(findings: list[Said], known: list[Label]) -> tuple[dict[str, Counter[str]], list[Said]]:
    """Return, by code, the number of labeled faults, of reported faults, and of findings by verdict.

    Also returns the findings without a label.
    """
    of = {label.path for label in known}
    by_path: dict[str, list[Label]] = defaultdict(list)
    for label in known:
        by_path[label.path].append(label)
    findings = [f for f in findings if f.path in of and f.severity != "note" and f.code.startswith("TL")]
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for label in known:
        if label.verdict == "fault":
            table[label.code]["faults"] += 1
            table[label.code]["told"] += any(fits(label, f) for f in findings)
    unjudged = []
    for finding in findings:
        verdicts = {label.verdict for label in by_path[finding.path] if fits(label, finding)}
        verdict = next((kind for kind in KINDS if kind in verdicts), "unjudged")
        table[finding.code][verdict] += 1
        if verdict == "unjudged":
            unjudged.append(finding)
    return table, unjudged


def printed(table: dict[str, Counter[str]]) -> Iterator[str]:
    columns = ("faults", "told", *KINDS)
    yield "code    " + "".join(f"{name:>9}" for name in ("faults", "told", "findings", *KINDS[1:]))
    total: Counter[str] = Counter()
    for code in sorted(table):
        total.update(table[code])
        yield _row(code, table[code])
    yield _row("all", total)
    findings = sum(total[kind] for kind in KINDS)
    right = total["fault"] + total["right"]
    if total["faults"] and findings:
        assert set(total) <= set(columns)
        yield (
            f"recall {total['told'] / total['faults']:.0%} of {total['faults']}; of {findings} findings "
            f"{right / findings:.0%} right, {total['wrong'] / findings:.1%} wrong"
        )


def _row(code: str, counts: Counter[str]) -> str:
    findings = sum(counts[kind] for kind in KINDS)
    figures = (counts["faults"], counts["told"], findings, *(counts[kind] for kind in KINDS[1:]))
    return f"{code:8}" + "".join(f"{figure:9}" for figure in figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=("record", "compare", "score"))
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    given = parser.parse_args()
    match given.command:
        case "record":
            found = sorted(said(given.first))
            given.second.write_bytes(b"\n".join(map(msgspec.json.encode, found)) + b"\n")
        case "compare":
            print("\n".join(compare(load(given.first), load(given.second))))
        case "score":
            table, unjudged = score(list(said(given.first)), labels(given.second))
            print("\n".join(printed(table)))
            for finding in unjudged:
                print(f"unjudged: {finding.path}:{finding.line} {finding.code} {finding.message}")


if __name__ == "__main__":
    main()
