"""Exports a run to a file: as a report, or as a recording of the run's events."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tuilab.history import recording
from tuilab.history.store import Store
from tuilab.lab.history import CancellableProgress, Entry, History, HistoryClient, Stopped, checked, titled
from tuilab.lab.offers import Offer
from tuilab.lab.results import document_of, to_share
from tuilab.lab.state import LabState
from tuilab.model.claims import Claim
from tuilab.model.errors import InputError
from tuilab.model.files import write_text
from tuilab.model.quantity import plural
from tuilab.report.formats import FORMATS

DETAILS = {
    "markdown": "the answer, the figures and the verdicts as text",
    "html": "a single page with plots, to send or publish",
    "csv": "every sample",
    "json": "the output of `tuilab run --json`",
}


def formats(run: bool) -> list[Offer]:
    """Return the available export formats.

    The keys are those of `tuilab export --format`, plus svg and recording. Without a run, only svg (a picture
    of the screen) is available.
    """
    out = [Offer(key, key, DETAILS.get(key, "")) for key in FORMATS] if run else []
    out.append(Offer("svg", "picture", "this screen as SVG"))
    if run:
        out.append(Offer("recording", "recording", "every event, for import or replay"))
    return out


def suffix(key: str) -> str:
    return {"svg": ".svg", "recording": ".jsonl"}.get(key) or FORMATS[key][0]


def write_shown(
    key: str, lab_state: LabState, store: Store, folder: Path, picture: Callable[[], str]
) -> Path:
    """Write the run on the screen to a new file, named after the preset and the time.

    picture: returns an SVG of the screen. Raises OSError and ValueError.
    """
    state, settings = lab_state.shown, lab_state.settings
    name = state.preset or (settings.preset.name if settings else "lab")
    path = free(folder / f"tuilab-{name}-{time.strftime('%Y%m%d-%H%M%S')}{suffix(key)}")
    if key == "svg":
        write_text(path, [picture()])
    elif key == "recording":
        recording.write(path, store.events(state.run))
    else:
        write_text(path, [FORMATS[key][1](to_share(lab_state.whole_result()), state)])
    return path


def write_kept(
    key: str, run: str, claims: Sequence[Claim], folder: Path, going: CancellableProgress, history: History
) -> Path:
    """Write a saved run to a file. If the writing of a recording fails or is stopped, the incomplete file is
    deleted.

    Raises OSError, sqlite3.Error, ValueError and Stopped.
    """
    line = history.find(run)
    name = re.sub(r"[^\w.-]+", "-", line.preset or line.workload)[:60]
    at, who = re.sub("[^0-9]", "", line.at[:19]), re.sub(r"[^\w-]", "-", run[:8])
    path = free(folder / f"tuilab-{name}-{at}-{who}{suffix(key)}")
    if key != "recording":
        write_text(path, document_of(key, history.store, run, claims, going.check))
        return path
    try:
        recording.write(path, checked(history.store.events(run), going))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


async def write_several(
    history: HistoryClient,
    key: str,
    entries: Sequence[Entry],
    claims: Mapping[str, Sequence[Claim]],
    folder: Path,
    going: CancellableProgress,
) -> str:
    """Write each run to its own file. Returns a sentence about the result.

    claims: claims by preset name. Raises the errors of `write_kept`, and InputError if a run no longer
    exists.
    """
    paths: list[Path] = []
    try:
        for done, entry in enumerate(entries):
            going.at(done, len(entries) if len(entries) > 1 else 0)
            own = claims.get(entry.line.preset, ())
            paths.append(await history.do(partial(write_kept, key, entry.run, own, folder, going)))
    except Stopped:
        raise Stopped(f"Stopped: {len(paths)} of {plural(len(entries), 'file')} written.") from None
    except KeyError:
        raise InputError("run", titled(entries), "a run that is still in the history") from None
    unread = await history.do(lambda kept: kept.unread)
    lacking = next((f", but {unread[entry.run]}" for entry in entries if entry.run in unread), "")
    return f"Written: {paths[0] if len(paths) == 1 else f'{len(paths)} files in {folder}'}{lacking}"


def free(path: Path) -> Path:
    """Return the path, or a numbered variant if the path exists."""
    number, chosen = 1, path
    while chosen.exists():
        number += 1
        chosen = path.with_stem(f"{path.stem}-{number}")
    return chosen
