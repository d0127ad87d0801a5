"""Measures a document's claims one after another, and gives each claim a verdict."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tuilab.catalogue.load import load
from tuilab.lab.proof import ON_CPU, on_cpu
from tuilab.model.errors import InputError
from tuilab.model.files import expanded, write_text
from tuilab.model.parameters import shown
from tuilab.model.preset import Preset
from tuilab.model.quantity import plural
from tuilab.model.result import RunResult
from tuilab.model.sanitize import sanitize_line
from tuilab.report.fact_check import WRITERS, FactCheck, Statement, with_doubts
from tuilab.workloads import find

if TYPE_CHECKING:
    from tuilab.documents.report import DocumentReport
    from tuilab.lab.lab import Lab


_LONGEST = 8
"""Maximum number of lines of a quoted statement."""


class Checker:
    """Measures the statements of a `FactCheck` that have no verdict, one preset after another.

    told: called after each change of the `FactCheck`.
    """

    def __init__(
        self, lab: "Lab", check: FactCheck, presets: Iterable[Preset], told: Callable[[], None] = lambda: None
    ) -> None:
        self.check = check
        self._lab, self._told = lab, told
        self._presets = {preset.name: preset for preset in presets}
        self._stopped = False

    async def run(self) -> None:
        """Measure until every statement has a verdict or `stop` is called. To continue, call `run` again.
        Raises WorkerError if no worker is available.
        """
        self._stopped = False
        check = self.check
        for name in dict.fromkeys(s.preset for s in check.statements if s.verdict is None):
            check.going = name
            self._told()
            try:
                result = await self._measure(self._presets[name])
            finally:
                check.going = ""
            if self._stopped or result.status == "cancelled":
                break
            self._stamp(name, result)
            self._told()
        self._told()

    async def _measure(self, preset: Preset) -> RunResult:
        """Measure a preset. If the document's code runs only on a GPU and this machine has none, measure the
        code on the CPU, to judge the claims that are not about the GPU.
        """
        machines = await self._lab.ready()
        modes = {claim.text for claim in preset.claims if not claim.about_gpu}
        if "CPU" in preset.arms.devices or not modes or any(m.gpus for m in machines.values()):
            return await self._lab.measure(preset, budget=self.check.budget)
        result = await self._lab.measure(on_cpu(preset), budget=self.check.budget)
        begun = dict.fromkeys(modes, f"{ON_CPU} ")
        return msgspec.structs.replace(
            result,
            claims=tuple(
                msgspec.structs.replace(each, evidence=f"{begun.get(each.text, '')}{each.evidence}")
                for each in result.claims
            ),
        )

    def _stamp(self, name: str, result: RunResult) -> None:
        check = self.check
        shown = self._lab.state.shown
        check.at = check.at or shown.at or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        check.machine = check.machine or shown.machine
        # A run on several hosts has a verdict for each host. `reversed` keeps the first host's verdict,
        # because the page names that host.
        verdicts = {verdict.text: verdict for verdict in reversed(result.claims)}
        for statement in check.statements:
            found = verdicts.get(statement.text)
            if statement.preset == name and found is not None:
                statement.verdict = found.verdict
                statement.evidence = with_doubts(found, result, self._presets[name].claims)
                statement.emulated, statement.run = found.emulated, result.run

    def stop(self) -> None:
        """Stop the measurement. The statements of the current preset get no verdict."""
        self._stopped = True
        self._lab.stop()


def write_page(check: FactCheck, folder: Path, ending: str) -> Path:
    """Write the results so far, with the machine and the date, to a page in the folder. Raises OSError.

    ending: html, md or txt.
    """
    path = folder / f"fact-check-{time.strftime('%Y%m%d-%H%M%S')}.{ending}"
    write_text(path, [WRITERS[f".{ending}"](check)])
    return path


def of_presets(title: str, presets: Sequence[Preset], prose: Mapping[int, str] = {}) -> FactCheck:
    """Return the presets' claims, in the order in which the document makes them.

    prose: the document's text by line number, for finding the lines that the claims quote. A claim without a
    quoted line is listed with the first line of the preset's code.
    """
    rows = []
    for preset in presets:
        code = preset.source.lines[0] if preset.source and preset.source.lines else 0
        for claim in preset.claims:
            rows.append(
                Statement(
                    preset=preset.name,
                    title=preset.title,
                    settings=_settings(preset) if claim.quoted else "",
                    text=claim.text,
                    quoted=claim.quoted,
                    line=_quoting(prose, claim.quoted) or code,
                )
            )
    return FactCheck(title=title, statements=rows)


def _settings(preset: Preset) -> str:
    """Return what a preset measures, such as `adding and multiplying by numbers, side 32, ops 8, float32`."""
    variants = find(preset.workload).declaration.variants
    does = [each.does or each.name for each in variants if each.name in preset.arms.variants]
    values = [
        shown(value) if name == "dtype" else f"{name.replace('_', ' ')} {shown(value)}"
        for name, value in preset.parameters.items()
    ]
    return ", ".join([*does, *values])


def _quoting(prose: Mapping[int, str], quoted: str) -> int:
    """Return the number of the line on which the quoted statement begins; 0 if it is not found."""
    for line, text in prose.items() if quoted else ():
        following = " ".join(prose.get(line + n, "").strip() for n in range(1, _LONGEST))
        if quoted in text or (quoted not in following and quoted in f"{text.strip()} {following}"):
            return line
    return 0


def bundled(document: str, presets: Sequence[Preset] | None = None) -> tuple[FactCheck, list[Preset]]:
    """Return the claims and presets of the bundled document with this number. Raises InputError."""
    known = [(p, p.source) for p in (load().presets if presets is None else presets) if p.source is not None]
    found = [preset for preset, source in known if source.document == document and preset.claims]
    if not found:
        there = sorted({f"{source.document} ({source.title})" for _, source in known if source.title})
        raise InputError("document", document, "a file, or one of " + ", ".join(there))
    title = next((s.title for _, s in known if s.document == document and s.title), "")
    return of_presets(f"{document} {title}".strip(), found), found


def article(path: Path) -> tuple[FactCheck, list[Preset]]:
    """Return the claims and presets of a file's examples. Raises InputError if it contains no comparison."""
    from tuilab.lab.opening import read_document

    report = read_document(str(path), lambda text: None, preview=True)
    check, found = of_report(report)
    if not check.statements:
        raise InputError(str(path), "no claim", CLAIMS, _describe_missing(report))
    return check, found


def of_report(report: "DocumentReport") -> tuple[FactCheck, list[Preset]]:
    """Return the claims and presets of a checked document. Returns no presets if none of the document's
    claims can be measured.
    """
    found = [preset for preset in report.presets if preset.claims]
    prose = {number: sanitize_line(text, 20_000) for number, text in enumerate(report.lines, 1)}
    check = of_presets(report.document.title or report.document.id, found, prose)
    measured = {claim.quoted for preset in found for claim in preset.claims}
    unmeasured = dict.fromkeys(claim for example in report.examples for claim in example.unmeasured)
    rows = [(claim.text, claim.quoted, UNMEASURED) for claim in unmeasured if claim.quoted not in measured]
    unread = dict(each for example in report.examples for each in example.unread)
    rows += [(sentence, "", why) for sentence, why in unread.items()]
    for text, quoted, why in rows:
        line = _quoting(prose, quoted or text)
        check.statements.append(
            Statement(preset="", text=text, quoted=quoted, line=line, verdict="untestable", evidence=why)
        )
    return check, found


UNMEASURED = (
    "No preset from the nearby code measures the ops or the size that this sentence is about, so none "
    "decides it."
)
"""Shown as the evidence for a claim about ops or sizes that no nearby preset measures."""
CLAIMS = "that one device or mode is faster, that copies dominate, or that the devices wait for their input"
"""Kinds of claims that tuilab recognizes in prose, as clauses for a message."""


def _describe_missing(report: "DocumentReport") -> str:
    if report.unreadable:
        return f"the file could not be read; expected {report.unreadable}"
    has = f"{plural(len(report.examples), 'piece')} of code found"
    if not report.examples:
        return "it contains no code, so there is no benchmark to measure"
    if not report.presets:
        return f"{has}, but none times an op that tuilab can measure"
    benchmarks = f"{plural(len(report.presets), 'benchmark')} that tuilab can measure"
    return (
        f"{has}, with {benchmarks}, but no sentence nearby claims {CLAIMS}; "
        "`tuilab import` makes presets from benchmarks, `tuilab check --prove` measures the "
        "effect of mistakes"
    )


def open_fact_check(document: str) -> tuple[FactCheck, list[Preset]]:
    """Return the claims and presets of a file or a bundled document. Raises InputError."""
    path = expanded(document)
    return article(path) if path.exists() else bundled(document)
