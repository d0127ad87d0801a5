"""What a rule is and finds, and the register of all: a rule is a function whose docstring explains it."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from tuilab.documents.example import Example
from tuilab.documents.interpreter.trace import Region

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")


class Finding(msgspec.Struct, frozen=True, omit_defaults=False):
    """Something wrong with an example as a measurement."""

    code: str
    """Stable: `TL103`."""
    line: int
    """In the document, from 1; in a notebook, of its cells as text."""
    message: str
    """What is wrong here."""
    remedy: str
    """What to do instead."""
    severity: Severity = "error"
    """error: the code stops, or the figure is not what it says; warning: it may mislead; note: in passing."""
    column: int = 1
    """From 1, in characters."""
    also: tuple[int, ...] = ()
    """Further lines with the same finding."""
    cell: int = 0
    """A notebook's cell, from 1; 0 for other documents."""
    cell_line: int = 0
    """The line in that cell, from 1."""
    replace: tuple[str, str] = ("", "")
    """What `--fix` would write for what, "" where a person has to."""
    calls: int = 0
    """Of how many calls, epochs or batches the figure holds the first; 0 where that is not known."""


@dataclass(frozen=True)
class Hit:
    """A place where a rule applies."""

    line: int
    message: str
    remedy: str = ""
    """Instead of the rule's own, where the place asks for another."""
    at: str = ""
    """The text on the line that is meant; where it is not found, the line's first word."""
    region: Region | None = None
    """The timing that it is about."""
    severity: Severity | None = None
    also: tuple[int, ...] = ()
    replace: tuple[str, str] = ("", "")
    calls: int = 0


Check = Callable[[Example], Iterator[Hit]]


@dataclass(frozen=True)
class Rule:
    """One kind of mistake, explained by the docstring of the function that finds it."""

    code: str
    title: str
    """In a few words."""
    severity: Severity
    preview: bool
    """Found on request only: right too seldom on the world's documents, or too seldom met to know."""
    what: str
    """What the rule looks for."""
    why: str
    """What the mistake does to the figure."""
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
