"""Rules, their findings, and the register of rules. A rule is a function; its docstring documents it."""

import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tuilab.documents.example import Example
from tuilab.documents.timing import Timing
from tuilab.model.found import Found, Severity


class Finding(Found, frozen=True, kw_only=True):
    """A mistake that makes an example's measurement wrong. code: code of the rule, such as `TL103`."""

    line: int
    """Line in the document, from 1; in a notebook, in the text of its cells."""
    column: int = 1
    """Column in characters, from 1."""
    also: tuple[int, ...] = ()
    """Further lines that have the same finding."""
    cell: int = 0
    """Number of the notebook cell, from 1; 0 for other documents."""
    cell_line: int = 0
    """Line within that cell, from 1."""
    replace: tuple[str, str] = ("", "")
    """The text that `--fix` replaces, and the new text; "" if `--fix` changes nothing."""
    calls: int = 0
    """Number of calls, epochs or batches in the measured time, including the first; 0 if unknown."""
    mode: str = ""
    """The mode of the measured work: `eager`, `graph` or `xla`; "" if unknown."""
    dtype: str = ""
    """The dtype of the measured work's tensors; "" if unknown."""


@dataclass(frozen=True)
class Hit:
    """A place in the document that violates a rule."""

    line: int
    message: str
    remedy: str = ""
    """A remedy for this place; "" to use the rule's remedy."""
    at: str = ""
    """The affected text on the line; "" for the line's first word."""
    timing: Timing | None = None
    severity: Severity | None = None
    also: tuple[int, ...] = ()
    replace: tuple[str, str] = ("", "")
    calls: int = 0


Check = Callable[[Example], Iterator[Hit]]


@dataclass(frozen=True)
class Rule:
    """A rule that detects one kind of mistake. The docstring of its function documents it."""

    code: str
    title: str
    severity: Severity
    preview: bool
    """True if the rule is off by default, because it is too often wrong on real documents, or too rare to
    judge."""
    what: str
    """What the rule detects."""
    why: str
    """The effect of the mistake on the figure."""
    remedy: str
    """What to do instead."""
    wrong: str
    """An example that the rule reports."""
    right: str
    """The same example with the mistake corrected."""
    check: Check = field(repr=False)


_REGISTER: dict[str, Rule] = {}
_PART = re.compile(r"^(Why|Instead|Wrong|Right):[ \t]*\n?", re.MULTILINE)


def rule(
    code: str, title: str, severity: Severity = "warning", preview: bool = False
) -> Callable[[Check], Check]:
    """Return a decorator that registers a rule.

    The rule's docstring has these parts: what it detects, `Why:`, `Instead:`, and the examples `Wrong:` and
    `Right:`.
    """

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
    return tuple(_REGISTER[code] for code in sorted(_REGISTER))
