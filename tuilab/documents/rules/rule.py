"""Rules and their findings, and the register: a rule is a function whose docstring documents it."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tuilab.documents.example import Example
from tuilab.documents.timing import Timing
from tuilab.model.found import Found, Severity


class Finding(Found, frozen=True, kw_only=True):
    """A mistake in an example as a measurement. code: of the rule, `TL103`."""

    line: int
    """In the document, from 1; in a notebook, in the text of its cells."""
    column: int = 1
    """From 1, in characters."""
    also: tuple[int, ...] = ()
    """Further lines with the same finding."""
    cell: int = 0
    """Cell of a notebook, from 1; 0 for other documents."""
    cell_line: int = 0
    """The line in that cell, from 1."""
    replace: tuple[str, str] = ("", "")
    """The replacement that `--fix` makes; "" if there is none."""
    calls: int = 0
    """Number of calls, epochs or batches in the figure, including the first; 0 if not known."""


@dataclass(frozen=True)
class Hit:
    """A place to which a rule applies."""

    line: int
    message: str
    remedy: str = ""
    """Replaces the rule's own remedy if the place needs another one."""
    at: str = ""
    """The affected text on the line; if missing, the line's first word."""
    timing: Timing | None = None
    """The timing that it is about."""
    severity: Severity | None = None
    also: tuple[int, ...] = ()
    replace: tuple[str, str] = ("", "")
    calls: int = 0


Check = Callable[[Example], Iterator[Hit]]


@dataclass(frozen=True)
class Rule:
    """A kind of mistake, documented by the docstring of its function."""

    code: str
    title: str
    """A short title."""
    severity: Severity
    preview: bool
    """Off by default: too often wrong on real documents, or too rare to judge."""
    what: str
    """What the rule looks for."""
    why: str
    """The effect of the mistake on the figure."""
    remedy: str
    """What to do instead."""
    wrong: str
    """An example that it finds."""
    right: str
    """The same without the mistake."""
    check: Check = field(repr=False)


_REGISTER: dict[str, Rule] = {}
_PART = re.compile(r"^(Why|Instead|Wrong|Right):[ \t]*\n?", re.MULTILINE)


def rule(
    code: str, title: str, severity: Severity = "warning", preview: bool = False
) -> Callable[[Check], Check]:
    """Register a rule. Its docstring: what it finds, `Why:`, `Instead:`, and examples: `Wrong:`, `Right:`."""

    def register(check: Check) -> Check:
        what, *rest = _PART.split(inspect.getdoc(check) or "")
        parts = dict(zip(rest[::2], rest[1::2], strict=True))
        _REGISTER[code] = Rule(
            code,
            title,
            severity,
            preview,
            _flowed(what),
            _flowed(parts["Why"]),
            _flowed(parts["Instead"]),
            textwrap.dedent(parts["Wrong"]).strip("\n"),
            textwrap.dedent(parts["Right"]).strip("\n"),
            check,
        )
        return check

    return register


def _flowed(text: str) -> str:
    return " ".join(text.split())


def registered() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    return tuple(_REGISTER[code] for code in sorted(_REGISTER))
