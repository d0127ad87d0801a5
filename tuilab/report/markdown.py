"""Formats a run's result as Markdown."""

import re
from collections.abc import Iterable, Sequence

from tuilab.model.result import RunResult
from tuilab.report.rows import (
    ARM_HEAD,
    CLAIM_HEAD,
    arm_rows,
    doubtful_line,
    interval_line,
    provenance,
    sections,
    sizes_line,
)

_SPECIAL = re.compile(r"([\\`*_\[\]|<>~&])|^([#+!-])")

_BREAK = re.compile(r"[\r\n]+")


def escape(text: str) -> str:
    """Escape text for Markdown and join its lines, because text after a line break could become a heading
    or a row.
    """
    return _SPECIAL.sub(r"\\\g<0>", _BREAK.sub(" ", text))


def document(result: RunResult) -> str:
    parts = [f"# {escape(result.preset or result.scenario.workload)}", "", escape(result.answer), ""]
    if line := doubtful_line(result):
        parts += [escape(line), ""]
    if line := sizes_line(result):
        parts += [escape(line), ""]
    parts += _table(ARM_HEAD, arm_rows(result))
    if line := interval_line(result):
        parts += [escape(line), ""]
    for section in sections(result):
        parts += [f"## {section.title}", ""]
        if section.head is CLAIM_HEAD:
            parts += [f"- **{v}**: {escape(claim)} {escape(why)}" for v, claim, why in section.rows] + [""]
        elif section.head:
            parts += _table(section.head, section.rows)
        if section.lines:
            parts += [*(f"- {escape(line)}" for line in section.lines), ""]
    parts += ["## How it was measured", "", *(f"- {escape(line)}" for line in provenance(result))]
    return "\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(map(escape, head)) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(map(escape, row)) + " |" for row in rows), ""]
