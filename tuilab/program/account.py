"""Accounts for each second of a program's time, by kind and place. Pure functions."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tuilab.model.program import AccountKind, AccountRow
from tuilab.program.fold import Process

WORDS: dict[AccountKind, str] = {
    "importing": "importing",
    "building": "building models",
    "tracing": "tracing",
    "compiling": "compiling (XLA)",
    "graphs": "running graphs",
    "eager": "running ops one by one",
    "input": "waiting for input",
    "reading": "reading values",
    "saving": "saving and loading",
    "python": "Python and NumPy",
    "waiting": "waiting",
    "unknown": "not known",
}
VERBS = {"Model.fit": "training", "Model.predict": "predicting", "Model.evaluate": "evaluating"}
"""Words for the activity during a call to Keras. The call's graphs, ops and input count as this activity."""
INSIDE: frozenset[AccountKind] = frozenset(("graphs", "eager", "input", "reading", "python"))
STARTING, ENDING, CATCHING = "starting", "ending", "saving the step for a trial"
"""Labels for the time before the program's first line and after its last line, and for tuilab's own work in
the program, in place of a user function.
"""
LEAST_SHARE, MOST_SAID = 0.01, 5
LEAST_S = 1e-6
_Key = tuple[AccountKind, tuple[str, ...], str, str]
MANY = 5


def account(of: Process, lasted_s: float, began: float = 0.0) -> tuple[AccountRow, ...]:
    """Return the rows of a process, longest first. Their seconds add up to `lasted_s`.

    began: the program's start in seconds since the epoch; 0 if unknown. The time before the first sample and
    the time after the last message get their own rows. Other time without a sample is `unknown`.
    """
    folder = _folder(of)
    rows: dict[_Key, float] = {}
    counts: dict[_Key, tuple[int, int]] = {}
    for (kind, lines, call, function), seconds in of.spent.items():
        key = kind, tuple(f"{_relative(file, folder)}:{line}" for file, line in lines), call, function
        rows[key] = rows.get(key, 0.0) + seconds
        if lines and (found := of.counted.get((*lines[-1], call))):
            counts[key] = found
    if rows:
        left = max(0.0, lasted_s - of.wall)
        before = min(left, of.started_after(began)) if began else 0.0
        # A process with much memory and many threads takes seconds to exit after its last message.
        for function, seconds in ((STARTING, before), (ENDING if of.ended else "", left - before)):
            if seconds > 0:
                rest: _Key = "unknown", (), "", function
                rows[rest] = rows.get(rest, 0.0) + seconds
    out = []
    for (kind, stack, call, function), seconds in rows.items():
        if seconds < LEAST_S:
            continue  # all of the row's time belongs to a call that traced
        n, samples = counts.get((kind, stack, call, function), (0, 0))
        out.append(
            AccountRow(
                kind=kind,
                stack=stack,
                seconds=seconds,
                call=call,
                function=function,
                count=n,
                samples=samples,
            )
        )
    return tuple(sorted(out, key=lambda row: -row.seconds))


def _folder(of: Process) -> str:
    if of.hello is None or not of.hello.script:
        return ""
    return os.path.dirname(os.path.normpath(os.path.join(of.hello.folder, of.hello.script)))


def _relative(file: str, folder: str) -> str:
    return file[len(folder) + 1 :] if folder and file.startswith(folder + os.sep) else file


def by_kind(rows: Iterable[AccountRow]) -> dict[str, float]:
    """Return the seconds of each kind, largest first. Each key is the kind's name on the page."""
    out: dict[str, float] = {}
    for row in rows:
        words = _words(row)
        out[words] = out.get(words, 0.0) + row.seconds
    return dict(sorted(out.items(), key=lambda item: -item[1]))


def _words(row: AccountRow) -> str:
    return row.function if _outside(row) else WORDS[row.kind]


def _outside(row: AccountRow) -> bool:
    return row.kind == "unknown" and row.function in (STARTING, ENDING, CATCHING)


def ending(rows: Iterable[AccountRow]) -> bool:
    return any(_outside(row) and row.function == ENDING for row in rows)


@dataclass
class Line:
    """A line of user code, with the time of everything that it calls.

    kinds: seconds spent in the line itself, by kind.
    """

    place: str
    seconds: float = 0.0
    kinds: dict[AccountKind, float] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    inner: "dict[str, Line]" = field(default_factory=dict)

    def sorted(self) -> "list[Line]":
        return sorted(self.inner.values(), key=lambda line: -line.seconds)


def tree(rows: Iterable[AccountRow]) -> Line:
    """Return the rows as a tree of lines, whose root is the program."""
    root = Line("")
    for row in rows:
        at = root
        at.seconds += row.seconds
        for place in row.stack:
            at = at.inner.setdefault(place, Line(place))
            at.seconds += row.seconds
        at.kinds[row.kind] = at.kinds.get(row.kind, 0.0) + row.seconds
        if row.call:
            at.calls.add(row.call)
    return root


@dataclass(frozen=True)
class Part:
    """A part of the headline: an activity of the program, its seconds and, if known, its line."""

    words: str
    seconds: float
    line: str = ""


def parts(rows: Sequence[AccountRow]) -> list[Part]:
    """Return the program's activities, longest first.

    Calls to Keras are grouped by method, all other time by kind.
    """
    spent: dict[tuple[str, str], float] = {}
    for row in rows:
        verb = VERBS.get(row.call) if row.kind in INSIDE else None
        key = (verb + _how(row), row.stack[-1]) if verb and row.stack else (_words(row), "")
        spent[key] = spent.get(key, 0.0) + row.seconds
    found = [Part(words, seconds, line) for (words, line), seconds in spent.items()]
    return sorted(found, key=lambda part: -part.seconds)


def _how(row: AccountRow) -> str:
    """Return a phrase about repetition, such as ` row by row` or ` in 120 calls`."""
    if row.count < MANY:
        return ""
    return " row by row" if row.samples == row.count else f" in {row.count:,} calls"


def headline(rows: Sequence[AccountRow], lasted_s: float) -> str:
    """Return a headline such as `35 s: 26 s predicting row by row (line 10), 3.6 s importing`."""
    said = [part for part in parts(rows) if part.seconds >= LEAST_SHARE * lasted_s][:MOST_SAID]
    if not rows or lasted_s <= 0:
        return ""
    script = {part.line.rpartition(":")[0] for part in parts(rows) if part.line}
    words = []
    for part in said:
        file, _, line = part.line.rpartition(":")
        where = f" (line {line})" if line and len(script) == 1 else f" ({file}:{line})" if line else ""
        words.append(f"{_seconds(part.seconds)} {part.words}{where}")
    return f"{_seconds(lasted_s)}: {', '.join(words)}"


def _seconds(value: float) -> str:
    """Format seconds with about two digits: `0.5 s`, `3.6 s`, `26 s`, `1,240 s`."""
    return f"{value:,.0f} s" if value >= 9.95 else f"{value:.1f} s"
