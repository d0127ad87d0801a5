"""A result as Markdown."""

import re
from collections.abc import Iterable

from tuilab.model.result import RunResult
from tuilab.report.rows import (
    ARM_HEAD,
    ROOF_HEAD,
    advice,
    arm_rows,
    claim_rows,
    crossing_lines,
    doubts,
    interval_line,
    phase_lines,
    provenance,
    roof_rows,
    sweep_rows,
)

_SPECIAL = re.compile(r"([\\`*_\[\]|<>~&])|^([#+!-])")

_BREAK = re.compile(r"[\r\n]+")


def escape(text: str) -> str:
    """Text that Markdown shows as it is, in one line: what follows a break could be a heading or a row."""
    return _SPECIAL.sub(r"\\\g<0>", _BREAK.sub(" ", text))


def document(result: RunResult) -> str:
    """The answer, the figures, the claims, the doubts, the machine."""
    parts = [f"# {escape(result.preset or result.scenario.workload)}", "", escape(result.answer), ""]
    parts += _table(ARM_HEAD, arm_rows(result))
    if line := interval_line(result):
        parts += [line, ""]
    if result.points:
        parts += ["## Sweep", "", *_table(*sweep_rows(result))]
        parts += [f"- {escape(line)}" for line in crossing_lines(result)] + [""]
    if rows := roof_rows(result):
        parts += ["## Against the roof", "", *_table(ROOF_HEAD, rows)]
    if lines := phase_lines(result):
        parts += ["## Where a call's time goes", "", *(f"- {escape(line)}" for line in lines), ""]
    if result.diagnosis:
        parts += ["## What to do", "", *(f"- {escape(line)}" for line in advice(result)), ""]
    if result.claims:
        parts += ["## Claims", ""]
        parts += [f"- **{v}**: {escape(claim)} {escape(why)}" for v, claim, why in claim_rows(result)] + [""]
    if said := doubts(result):
        parts += ["## Doubts", "", *(f"- {escape(doubt)}" for doubt in said), ""]
    parts += ["## How it was measured", "", *(f"- {escape(line)}" for line in provenance(result))]
    return "\n".join(parts) + "\n"


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(escape, row)) + " |" for row in rows), ""]
