"""Stores a summary of each machine's runs, so that many machines can be compared.

Keeps only the latest summary for each combination of preset, parameters and machine.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tuilab.history.store import Store
from tuilab.model.errors import UNDECODED
from tuilab.model.machine_summary import MachineSummary

_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[MachineSummary] = msgspec.msgpack.Decoder(MachineSummary)

_AHEAD = "{} > strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '+1 day')"
"""An SQL condition for times more than a day in the future.

Without this condition, a run recorded while the clock was ahead would stay the latest forever.
"""
_GONE = "SELECT run FROM runs WHERE deleted_at IS NOT NULL"


def unsummed(store: Store) -> list[str]:
    """Return the finished runs whose summaries are missing or outdated.

    These are new runs, imported runs, runs that gained rounds, and earlier runs of a preset whose latest run
    on a machine was deleted.
    """
    connection = store.connection
    gone = f"SELECT preset, machine FROM standings WHERE run IN ({_GONE})"
    for preset, machine in connection.execute(gone).fetchall():
        again = "UPDATE runs SET summed = NULL WHERE host = ? AND (preset = ? OR workload = ?)"
        connection.execute(again, (machine, preset, preset))
    connection.execute(f"DELETE FROM standings WHERE run IN ({_GONE})")
    query = "SELECT run FROM runs INDEXED BY runs_to_sum WHERE deleted_at IS NULL AND status IS NOT NULL"
    return [run for (run,) in connection.execute(f"{query} AND summed IS NOT rounds")]


def keep(store: Store, run: str, machine_summaries: Sequence[MachineSummary]) -> None:
    """Save each machine's summary of a run, unless a later run's summary is stored. Raises sqlite3.Error."""
    rows = [(s.preset, s.parameters, s.machine, run, s.at, _encode(s)) for s in machine_summaries]
    with store.at_once():
        store.connection.executemany(
            "INSERT INTO standings VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (preset, parameters, machine) "
            "DO UPDATE SET run = excluded.run, at = excluded.at, standing = excluded.standing "
            f"WHERE ({_AHEAD.format('at')}, excluded.at) >= ({_AHEAD.format('excluded.at')}, at)",
            rows,
        )
        store.connection.execute("UPDATE runs SET summed = rounds WHERE run = ?", (run,))


def latest(store: Store) -> list[MachineSummary]:
    query = f"SELECT standing FROM standings WHERE run NOT IN ({_GONE})"
    return list(_decode(row[0] for row in store.connection.execute(query)))


def _decode(lines: Iterable[bytes]) -> Iterator[MachineSummary]:
    for line in lines:
        try:
            yield _decoder.decode(line)
        except (*UNDECODED, TypeError):
            continue  # saved by another version of tuilab; the run itself is still in the history
