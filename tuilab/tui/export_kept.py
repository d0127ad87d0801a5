"""A run of the history as a file. No Textual."""

import re
from collections.abc import Sequence
from pathlib import Path

from tuilab.analysis.summary import summarise
from tuilab.history import recording
from tuilab.history.store import Store
from tuilab.model.claims import Claim
from tuilab.report.formats import FORMATS
from tuilab.tui.export import free
from tuilab.tui.ledger import Going, checked, read


def write_kept(key: str, run: str, claims: Sequence[Claim], folder: Path, going: Going, store: Store) -> Path:
    """Write a run of the history; returns the file. Raises OSError, sqlite3.Error, ValueError and Stopped.

    A recording that was stopped half way is taken away again.
    """
    line = store.find(run)
    suffix = ".jsonl" if key == "recording" else FORMATS[key][0]
    name = re.sub(r"[^\w.-]+", "-", line.preset or line.workload)[:60]
    path = free(folder / f"tuilab-{name}-{re.sub('[^0-9]', '', line.at[:19])}-{run[:8]}{suffix}")
    if key != "recording":
        state = read(store, run, going)
        path.write_text(FORMATS[key][1](summarise(state, claims), state), encoding="utf-8")
        return path
    try:
        recording.write(path, checked(store.events(run), going))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
