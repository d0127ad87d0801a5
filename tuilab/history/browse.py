"""Reads the list of stored runs page by page in a chosen order."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tuilab.history.lines import COLUMNS, RunLine, line_of
from tuilab.history.search import NO_TITLES, condition
from tuilab.history.store import Store
from tuilab.model.brief import Brief
from tuilab.model.errors import UNDECODED
from tuilab.model.machine import Machine
from tuilab.model.parameters import Value
from tuilab.model.run import RunState
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import Scenario

_scenario = msgspec.json.Decoder(Scenario)
_machine = msgspec.json.Decoder(Machine)
_brief = msgspec.json.Decoder(Brief)
_FIELD = "CASE WHEN json_valid(brief) THEN json_extract(brief, '$[{}]') END"

_SELECT = f"SELECT {COLUMNS}, scenario, brief FROM runs WHERE"

ORDERS: Mapping[str, str] = {
    "at": "at",
    "name": "CASE preset WHEN '' THEN workload ELSE preset END COLLATE NOCASE",
    "machine": "host COLLATE NOCASE",
    "budget": "budget",
    "status": "status",
    "rounds": "rounds",
    "size": "size",
    "pinned": "NULLIF(pinned, '')",
    "fastest": _FIELD.format(2),
    "ratio": _FIELD.format(4),
}
"""SQL sort expressions by column of the list. Runs without a value come last."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry in the list of runs. parameters: all measured parameters. brief: None until computed."""

    line: RunLine
    parameters: dict[str, Value] = {}
    brief: Brief | None = None

    @property
    def run(self) -> str:
        return self.line.run

    @property
    def name(self) -> str:
        """The name of the run's preset, or else of its workload."""
        return self.line.preset or self.line.workload


class Extent(msgspec.Struct, frozen=True):
    """Number of runs, and the bytes of their events."""

    runs: int = 0
    size: int = 0


def extent(store: Store, search: str = "", titles: Mapping[str, str] = NO_TITLES) -> Extent:
    where, values = condition(search, store.searched, titles)
    query = f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM runs INDEXED BY runs_by_time WHERE {where}"
    return Extent(*store.connection.execute(query, values).fetchone())


def page(
    store: Store,
    search: str = "",
    *,
    titles: Mapping[str, str] = NO_TITLES,
    order: str = "at",
    rising: bool = False,
    limit: int,
    offset: int = 0,
) -> list[Entry]:
    """Return at most `limit` of the runs that match `search`, from the index `offset`. order: a key of
    `ORDERS`.
    """
    where, values = condition(search, store.searched, titles)
    way, by = "ASC" if rising else "DESC", ORDERS[order]
    # Lists are mostly ordered by time, for which there is an index.
    last = "" if order == "at" else f"({by}) IS NULL, "
    query = f"{_SELECT} {where} ORDER BY {last}{by} {way}, at DESC, run LIMIT ? OFFSET ?"
    return _entries(store, query, (*values, limit, offset))


def entry(store: Store, run: str) -> Entry | None:
    return next(iter(_entries(store, f"{_SELECT} deleted_at IS NULL AND run = ?", (run,))), None)


def pinned(store: Store, limit: int = 6) -> list[Entry]:
    # Name the index, because the query planner would scan every run that is not deleted.
    few = _SELECT.replace(" FROM runs ", " FROM runs INDEXED BY runs_pinned ")
    query = f"{few} deleted_at IS NULL AND pinned IN ('ghost', 'baseline') ORDER BY at DESC LIMIT ?"
    return _entries(store, query, (limit,))


LATEST, MOST_ALIKE = 2_000, 19
"""Number of latest runs that are searched for similar runs, and maximum number of similar runs that are used.
"""


def medians_alike(store: Store, run: RunState, fastest: str) -> list[float]:
    """Return the medians of the latest runs with the same settings on the same machine, in seconds per call.

    Counts only runs in which the arm with the label `fastest` was the fastest.
    """
    assert run.scenario is not None and run.machine is not None and run.budget is not None
    rows = store.connection.execute(
        "SELECT scenario, machine, brief, rounds FROM runs WHERE id IN"
        " (SELECT id FROM runs WHERE deleted_at IS NULL ORDER BY at DESC LIMIT ?)"
        " AND run != ? AND preset = ? AND workload = ? AND host = ? AND budget = ? AND status = 'ok'"
        " ORDER BY at DESC",
        (LATEST, run.run, run.preset, run.scenario.workload, run.machine.host, run.budget.name),
    )
    out: list[float] = []
    for scenario, machine, brief, rounds in rows:
        known = _current_summary(brief, rounds)
        if known is None or known.fastest != fastest or known.median_s is None or known.swept:
            continue
        try:
            same = _scenario.decode(scenario).parameters == run.scenario.parameters
            same = same and _machine.decode(machine).key == run.machine.key
        except (*UNDECODED, TypeError):
            continue  # written by another version
        out += [known.median_s] if same else []
        if len(out) == MOST_ALIKE:
            break
    return out


def _entries(store: Store, query: str, values: Sequence[object]) -> list[Entry]:
    rows = store.connection.execute(query, values).fetchall()
    tags = store.tags([row[0] for row in rows])
    return [_entry(row, tags.get(row[0], ())) for row in rows]


def _entry(row: Sequence[object], tags: tuple[str, ...]) -> Entry:
    *columns, scenario, brief = row
    line = line_of(columns, tags)
    return Entry(line=line, parameters=_parameters(scenario), brief=_current_summary(brief, line.rounds))


def _parameters(scenario: Any) -> dict[str, Value]:
    try:
        known = _scenario.decode(scenario).parameters
    except (*UNDECODED, TypeError):
        return {}
    return {
        sanitize_line(name, 64): sanitize_line(value, 200) if isinstance(value, str) else value
        for name, value in known.items()
    }


def _current_summary(brief: Any, rounds: int) -> Brief | None:
    """Return the saved summary; None if missing, unreadable, or older than the run's last round."""
    if not brief:
        return None
    try:
        found = _brief.decode(brief)
    except (*UNDECODED, TypeError):
        return None
    if found.rounds != rounds:
        return None
    texts = {"fastest": found.fastest, "next": found.next, "swept": found.swept, "sizes": found.sizes}
    return msgspec.structs.replace(found, **{name: sanitize_line(text, 100) for name, text in texts.items()})
