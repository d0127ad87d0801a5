"""Provides the results of saved runs.

A result is computed once and saved with its run. It is computed again after a change of its inputs or of the
analysis code.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tuilab.analysis.machines import machine_summaries
from tuilab.analysis.ranking import brief
from tuilab.analysis.summary import summarise
from tuilab.history.lines import UNATTENDED, RunLine
from tuilab.history.machine_summaries import keep
from tuilab.history.store import Store
from tuilab.model.claims import Claim
from tuilab.model.errors import UNDECODED, InputError
from tuilab.model.result import RunResult
from tuilab.model.run import RunState
from tuilab.report.csv import rows
from tuilab.report.formats import FORMATS
from tuilab.version import HOME, __version__

LARGEST = 8 * 2**20
"""Maximum size of a saved result, in bytes. Larger results (with very many placement rows) are computed each
time.
"""

_decoder = msgspec.json.Decoder(RunResult)
DRAWN = ("html", "csv")
"""Export formats that need a run's samples, not only its result."""


@cache
def _analysis() -> str:
    """Return a short hash that changes with the source code that computes results."""
    files = sorted([*(HOME / "analysis").glob("*.py"), HOME / "model" / "result.py"])
    seen = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr((__version__, seen)).encode()).hexdigest()[:16]


def _of(store: Store, run: str, claims: Sequence[Claim]) -> str:
    """Return a key for all inputs of a result: the number of events, the claims, and the analysis code."""
    told = hashlib.sha256(msgspec.json.encode(list(claims))).hexdigest()[:16]
    return f"{store.next_number(run)} {told} {_analysis()}"


def keep_result(store: Store, run: str, claims: Sequence[Claim], state: RunState, result: RunResult) -> None:
    """Save a run's result and its machines' summaries. Does nothing if the store is not writable."""
    try:
        data = msgspec.json.encode(result)
        if len(data) <= LARGEST:
            store.keep_result(run, _of(store, run, claims), data)
        if state.status is not None:
            keep(store, run, machine_summaries(state, claims))
    except (sqlite3.Error, ValueError, ArithmeticError):
        pass  # the result is computed again the next time


def work_out(store: Store, run: str, claims: Sequence[Claim]) -> None:
    """Compute and save the answer, summary and result of a run that finished without a lab."""
    state = store.state(run)
    try:
        result = summarise(state, claims)
        store.answer(run, result.answer, brief(state))
    except Exception:
        return  # the run stays in the history without a summary
    keep_result(store, run, claims, state, result)


def work_out_unattended(
    store: Store, run: str, claims_of: Callable[[str], Sequence[Claim]]
) -> RunLine | None:
    """Compute the result of a run that continued without its lab. Tags a successful run with `UNATTENDED`.

    Returns None if the run no longer exists.
    """
    line = store.line(run)
    if line is None:
        return None
    work_out(store, run, claims_of(line.preset))
    if line.status == "ok":
        store.tag(run, UNATTENDED)
    return line


def result_of(store: Store, run: str, claims: Sequence[Claim], state: RunState | None = None) -> RunResult:
    """Return the result of a saved run. Raises InputError if the start of the run is damaged."""
    data = store.result(run, _of(store, run, claims))
    if data is not None:
        try:
            return _decoder.decode(data)
        except (*UNDECODED, ValueError):
            pass  # another version wrote the saved result
    state = state or store.state(run)
    if not state.run:
        why = "its first events cannot be read"
        raise InputError(f"run {run[:8]}", why, "an undamaged run; see `tuilab history check`")
    result = summarise(state, claims)
    if run not in store.unread:
        keep_result(store, run, claims, state, result)
    return result


def document_of(
    format: str,
    store: Store,
    run: str,
    claims: Sequence[Claim],
    going: Callable[[], None] = lambda: None,
) -> Iterator[str]:
    """Yield the parts of a report on a saved run. Raises the errors of `result_of`.

    going: called regularly; may raise an error to stop the export.
    """
    state = store.state(run, going) if format in DRAWN else RunState()
    if format == "csv":
        yield from rows(state)
        return
    result = result_of(store, run, claims, state if state.run else None)
    yield FORMATS[format][1](to_share(result), state)


def to_share(result: RunResult) -> RunResult:
    """Return the result with the name of the user's file but not its folders, for sharing."""
    file, opening = result.scenario.file, result.scenario.opening
    if not file:
        return result
    opening = msgspec.structs.replace(opening, code=Path(opening.code).name, data=Path(opening.data).name)
    scenario = msgspec.structs.replace(result.scenario, file=Path(file).name, opening=opening)
    return msgspec.structs.replace(result, scenario=scenario)
