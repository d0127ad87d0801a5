"""Formats a run's result as plain text, for a terminal or an email."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from tuilab.analysis.words import short
from tuilab.model.environment import whose
from tuilab.model.result import RunResult
from tuilab.report.rows import (
    ARM_HEAD,
    LAYER_HEAD,
    MOST_LAYERS,
    ROOF_HEAD,
    advice,
    arm_row,
    arm_rows,
    claim_rows,
    crossing_lines,
    cut,
    doubtful_line,
    doubts,
    fitted,
    folded,
    interval_line,
    layer_rows,
    layers_in,
    layers_note,
    layers_title,
    machine_lines,
    model_lines,
    phase_lines,
    roof_lines,
    roof_rows,
    sizes_line,
    sweep_rows,
    unmeasured_lines,
    wrapped_line,
)

Role = Literal["answer", "prose", "row", "head", "claim", "evidence", "advice", "caveat", "blank"]
"""The role of a line, which determines its style. Rows are aligned, and never wrapped."""

HANGING = {"advice": 2, "caveat": 2, "evidence": 2}
"""The indentation of a wrapped line's continuation, in characters."""


def table(result: RunResult, *, details: bool = True) -> str:
    """Return the answer, the arms' figures, the claims with their verdicts, and the caveats as text.

    details: include every caveat and each arm's bound; otherwise only summarize the caveats.
    """
    return "\n".join(line for _, line in lines(result, details=details))


def lines(result: RunResult, *, details: bool, most: int = 0) -> Iterator[tuple[Role, str]]:
    """Yield the lines of `table` without line breaks, each with its role.

    most: maximum width of rows in characters, 0 for no limit.
    """
    for role, line in _lines(result, details, most):
        yield role, line.replace("\n", " ")


def dressed(
    roles_and_lines: Sequence[tuple[Role, str]], width: int, style: Callable[[Role, str], str]
) -> str:
    """Format lines for a terminal with `width` columns: wrap the prose, leave the rows unchanged, and style
    each line.
    """
    out: list[str] = []
    for role, line in roles_and_lines:
        wrapped = [line]
        if role not in ("row", "head", "blank") and len(line) > width:
            wrapped = wrapped_line(line, width, HANGING.get(role, 0))
        out += [style(role, each) for each in wrapped]
    return "\n".join(out)


def _lines(result: RunResult, details: bool, most: int) -> Iterator[tuple[Role, str]]:
    if set(result.machines) <= {""} and (environment := whose(result.machine)):
        yield "prose", f"In {environment}:"
    yield "answer", result.answer
    if (line := doubtful_line(result)) and not details:
        caveats = doubts(result)
        more = f"; --details shows all {len(caveats)} caveats" if len(caveats) > 1 else ""
        yield "caveat", line + more
    if line := sizes_line(result):
        yield "prose", line
    yield "blank", ""
    yield from _arms(result, most)
    if line := interval_line(result):
        yield "prose", line
    yield from _some("prose", model_lines(result))
    yield from _some("prose", machine_lines(result))
    if result.points:
        yield "blank", ""
        yield from _rows(*sweep_rows(result), most)
        yield from (("prose", line) for line in (*crossing_lines(result), *unmeasured_lines(result)))
    if rows := roof_rows(result):
        yield "blank", ""
        yield from _rows(ROOF_HEAD, rows, most, None if details else BRIEF_ROOF)
        yield from (("prose", line) for line in roof_lines(result, details))
    if details:
        yield from _some("prose", phase_lines(result))
    if rows := layer_rows(layers_in(result), None if details else MOST_LAYERS):
        yield from _some("prose", [f"{layers_title(result)}:"])
        yield from _rows(LAYER_HEAD, rows, most, None if details else BRIEF_LAYERS)
    yield from _some("prose", layers_note(result))
    yield from _some("advice", [f"→ {line}" for line in advice(result)[: None if details else MOST_ADVICE]])
    yield from _some("prose", [line.sentence for line in result.contention])
    if result.claims:
        yield "blank", ""
    for verdict, claim, evidence in claim_rows(result):
        yield "claim", f"{verdict}: {claim}"
        yield "evidence", f"  {evidence}"
    if details:
        yield from _some("caveat", [f"! {doubt}" for doubt in doubts(result)])


MOST_ADVICE = 3
BRIEF_LAYERS: Sequence[int] = (0, 2, 3, 5, 6)
BRIEF_ROOF = (0, 1, 3, 5)
"""Columns of the roofs' table that fit into 80 characters: arm, arithmetic, share of the roof, and what
limits the arm.
"""


def _some(role: Role, caveats: Sequence[str]) -> Iterator[tuple[Role, str]]:
    if caveats:
        yield "blank", ""
    yield from ((role, line) for line in caveats)


def _arms(result: RunResult, most: int) -> Iterator[tuple[Role, str]]:
    rows = arm_rows(result)
    measured = [row for row in rows if row[2]]
    if measured:
        yield from _rows(ARM_HEAD, measured, most)
    for arm in folded(result.arms):
        if arm.median_s is None:
            # The answer names the reason of a failure; do not print it twice.
            said = arm.status == "failed" and arm.reason and short(arm.reason) in result.answer
            yield "prose", f"{arm.label}: {arm.status if said else arm_row(arm)[1]}"


def _rows(
    head: Sequence[str], rows: Sequence[Sequence[str]], most: int, kept: Sequence[int] | None = None
) -> Iterator[tuple[Role, str]]:
    """Yield the lines of a table.

    kept: indices of the columns to include, None for all.
    """
    if kept is not None:
        head, rows = [head[i] for i in kept], [[row[i] for i in kept] for row in rows]
    shown = [0, *(i for i in range(1, len(head)) if not most or any(row[i] not in NOTHING for row in rows))]
    first, *rest = columns([[row[i] for i in shown] for row in (head, *rows)], most)
    yield "head", first
    for row in rest:
        yield "row", row


NOTHING = ("", "–", "—", "-")
"""Cells without information. A column that has only such cells is omitted."""


def columns(rows: Sequence[Sequence[str]], most: int = 0) -> list[str]:
    """Return the rows as lines, with the first column aligned left and all others right.

    most: maximum width of a line in characters.
    """
    widths = fitted([max(len(row[i]) for row in rows) for i in range(len(rows[0]))], most)
    rows = [[cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    aligned = [
        [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]
    return ["  ".join(row).rstrip() for row in aligned]
