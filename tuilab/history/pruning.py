"""Which runs are old or too many, hiding them, and removing for good what was hidden long ago."""

import time
from collections.abc import Callable, Iterable

import msgspec

from tuilab.history.store import UNDO_DAYS, Store

_DAY_S = 86_400.0
_FREE = "deleted_at IS NULL AND pinned = '' AND status IS NOT NULL"


class PruneCandidates(msgspec.Struct, frozen=True):
    """Runs that a prune would delete, and the bytes that their events take."""

    runs: tuple[str, ...] = ()
    size: int = 0


def prune_candidates(store: Store, days: float | None = None, size: int | None = None) -> PruneCandidates:
    """Runs older than `days`, then the oldest until at most `size` bytes are left.

    Pinned runs and those that go on are left alone, but count for what is left.
    """
    found: dict[str, int] = {}
    c = store.connection
    limit = ""
    if days is not None:
        limit = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - days * _DAY_S))
        found.update(c.execute(f"SELECT run, size FROM runs WHERE {_FREE} AND at < ?", (limit,)))
    if size is not None:
        kept = f"SELECT * FROM runs WHERE deleted_at IS NULL AND NOT ({_FREE} AND at < ?)"
        sums = f"SELECT *, SUM(size) OVER (ORDER BY at DESC, run) AS total FROM ({kept})"
        found.update(c.execute(f"SELECT run, size FROM ({sums}) WHERE total > ? AND {_FREE}", (limit, size)))
    return PruneCandidates(tuple(found), sum(found.values()))


def soft_delete(store: Store, runs: Iterable[str], *, asked: bool = False) -> list[str]:
    """Delete these runs at once, until `bring_back`; returns those that were there.

    asked: somebody named these very runs, so that pinned ones, too, and those without an end are deleted.
    """
    now, hidden = time.time(), []
    which = "deleted_at IS NULL" if asked else _FREE
    with store.at_once():
        for run in runs:
            query = f"UPDATE runs SET deleted_at = ? WHERE run = ? AND {which}"
            hidden += [run] * store.connection.execute(query, (now, run)).rowcount
    return hidden


def bring_back(store: Store) -> list[str]:
    """Undo the last deletion that is not undone yet; returns its runs, none where there is nothing left."""
    last = "deleted_at = (SELECT MAX(deleted_at) FROM runs)"
    with store.at_once():
        runs = [run for (run,) in store.connection.execute(f"SELECT run FROM runs WHERE {last}")]
        store.connection.execute(f"UPDATE runs SET deleted_at = NULL WHERE {last}")
    return runs


def purge(
    store: Store, days: float = UNDO_DAYS, going: Callable[[int, int], bool] = lambda done, total: True
) -> int:
    """Remove for good what was deleted more than `days` ago; returns how many runs.

    Run by run, so that others can write in between. going: how many are done, of how many; False stops.
    """
    limit = time.time() - days * _DAY_S
    runs = store.connection.execute("SELECT run FROM runs WHERE deleted_at < ?", (limit,)).fetchall()
    for done, (run,) in enumerate(runs):
        if not going(done, len(runs)):
            return done
        store.connection.execute("DELETE FROM runs WHERE run = ? AND deleted_at < ?", (run, limit))
    return len(runs)
