"""A result as plain text for a terminal or a mail."""

from collections.abc import Sequence

from tuilab.model.result import RunResult
from tuilab.report.rows import (
    ARM_HEAD,
    ROOF_HEAD,
    advice,
    arm_row,
    claim_rows,
    doubts,
    machine_lines,
    roof_rows,
    sweep_rows,
)


def table(result: RunResult) -> str:
    """The answer, the arms with their figures, the claims with their verdicts, the doubts."""
    parts = [result.answer, "", *_arms(result)]
    if machines := machine_lines(result):
        parts += ["", *machines]
    if result.points:
        head, rows = sweep_rows(result)
        parts += ["", *columns([head, *rows]), *(c.sentence for c in result.crossovers)]
    if result.sweep_bound is not None and result.roofs:
        parts.append(result.sweep_bound.sentence)
    if rows := roof_rows(result):
        parts += ["", *columns([ROOF_HEAD, *rows])]
    if result.diagnosis:
        parts += ["", *(f"→ {line}" for line in advice(result))]
    if result.contention:
        parts += ["", *(line.sentence for line in result.contention)]
    if result.claims:
        parts.append("")
    for verdict, claim, evidence in claim_rows(result):
        parts += [f"{verdict}: {claim}", f"  {evidence}"]
    flags = [f"! {doubt}" for doubt in doubts(result)]
    lines = [*parts, "", *flags] if flags else parts
    return "\n".join(line.replace("\n", " ") for line in lines)


def _arms(result: RunResult) -> list[str]:
    rows = [arm_row(arm) for arm in result.arms]
    measured = [row for row in rows if row[2]]
    lines = columns([ARM_HEAD, *measured]) if measured else []
    return lines + [f"{row[0]}  {row[1]}" for row in rows if not row[2]]


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as aligned lines: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    aligned = [
        [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]
    return ["  ".join(row).rstrip() for row in aligned]
