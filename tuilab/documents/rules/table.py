"""The table of all rules, and their findings in an example."""

from tuilab.documents.example import Example, tensors_in
from tuilab.documents.interpreter.trace import TraceEvent
from tuilab.documents.interpreter.values import Graph
from tuilab.documents.rules import (  # noqa: F401  (each registers its rules)
    beliefs,
    comparison,
    copies,
    counts,
    names,
    others,
    placement,
    regions,
    state,
    tracing,
    units,
    warmth,
)
from tuilab.documents.rules.rule import Finding, Hit, Rule, registered
from tuilab.documents.rules.suppress import suppressed
from tuilab.model.found import Severity
from tuilab.model.sanitize import sanitize_line

RULES: tuple[Rule, ...] = registered()
_BY_CODE = {known.code: known for known in RULES}


def rule(code: str) -> Rule:
    """Return the rule with that code. Raises KeyError."""
    return _BY_CODE[code]


def check(example: Example, preview: bool = True) -> tuple[Finding, ...]:
    """Return the findings in an example, sorted by line, without suppressed findings. At most one per line
    and rule.

    preview: include preview rules.
    """
    found: dict[tuple[int, str], Finding] = {}
    for known in RULES:
        if known.preview and not preview:
            continue
        for hit in known.check(example):
            key = (hit.line, known.code)
            if key not in found and not suppressed(example, known.code, hit.line):
                found[key] = _finding(example, known, hit)
    return tuple(found[key] for key in sorted(found))


def _finding(example: Example, known: Rule, hit: Hit) -> Finding:
    text = example.text(hit.line)
    at = text.find(hit.at) if hit.at else -1
    cell = example.block.cell
    where = f" (in {hit.timing.region.file})" if hit.timing and hit.timing.region.file else ""
    return Finding(
        known.code,
        sanitize_line(hit.message + where, 400),
        sanitize_line(hit.remedy or known.remedy, 400),
        hit.severity or _severity(known, hit),
        line=hit.line,
        column=1 + (at if at >= 0 else len(text) - len(text.lstrip())),
        also=hit.also,
        cell=cell,
        cell_line=hit.line - example.block.line + 1 if cell else 0,
        replace=hit.replace,
        calls=hit.calls,
        mode=_mode(hit.timing.work) if hit.timing is not None else "",
        dtype=_dtype(hit.timing.work) if hit.timing is not None else "",
    )


def _mode(work: TraceEvent | None) -> str:
    """Return the mode of the timed work (`eager`, `graph` or `xla`); "" if the code does not show it."""
    if work is None or work.kind not in ("graph", "op", "train"):
        return ""
    if work.kind == "op" and work.place.traced is None:
        return "eager"
    return "xla" if isinstance(work.runs, Graph) and work.runs.jit else "graph"


def _dtype(work: TraceEvent | None) -> str:
    """Return the dtype of the timed work's tensors; "" if they have several or it is unknown."""
    tensors = [tensor for value in work.arguments.values() for tensor in tensors_in(value)] if work else []
    found = {tensor.dtype for tensor in tensors}
    return next(iter(found)) or "" if len(found) == 1 else ""


def _severity(known: Rule, hit: Hit) -> Severity:
    """Return the rule's severity, but `note` for a timing that only logs the duration of training, because
    such a timing is not a benchmark.
    """
    if hit.timing is not None and hit.timing.role == "log":
        return "note"
    return known.severity
