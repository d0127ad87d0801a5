"""A view or a run as a file in the current folder."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tuilab.analysis.reading import summary_point
from tuilab.analysis.summary import placement_of
from tuilab.history import recording
from tuilab.report.formats import FORMATS

if TYPE_CHECKING:
    from tuilab.tui.begin import Lab
    from tuilab.tui.screens.lab import LabScreen

DETAILS = {
    "markdown": "the answer, the figures and the verdicts as text",
    "html": "one page with plots, to mail or to publish",
    "csv": "every sample",
    "json": "the object that `tuilab run --json` prints",
}


@dataclass(frozen=True)
class Format:
    """A way to take something along."""

    key: str
    label: str
    detail: str


def formats(run: bool) -> list[Format]:
    """What there is to export: a picture of the screen always, the rest where there is a run."""
    out = [Format(key, key, DETAILS.get(key, "")) for key in FORMATS] if run else []
    out.append(Format("svg", "picture", "this screen as SVG"))
    if run:
        out.append(Format("recording", "recording", "every event, to import or to replay (R)"))
    return out


def write(key: str, lab: "Lab", screen: "LabScreen", folder: Path) -> tuple[str, str]:
    """Write it; returns what to say and in which tone."""
    suffix = {"svg": ".svg", "recording": ".jsonl"}.get(key) or FORMATS[key][0]
    state = lab.session.shown
    name = state.preset or (lab.session.settings.preset.name if lab.session.settings else "lab")
    path = free(folder / f"tuilab-{name}-{time.strftime('%Y%m%d-%H%M%S')}{suffix}")
    try:
        if key == "recording":
            recording.write(path, lab.store.events(state.run))
        else:
            path.write_text(_text(key, lab, screen), encoding="utf-8")
    except OSError as error:
        return f"{path} could not be written: {error.strerror}", "error"
    except ValueError as error:
        return f"Nothing was exported: {error}", "error"
    return f"Written: {path}", "information"


def _text(key: str, lab: "Lab", screen: "LabScreen") -> str:
    if key == "svg":
        return screen.app.export_screenshot(title="tuilab")
    result, state = lab.session.result(), lab.session.shown
    if result is None:
        raise ValueError("there is no run on the screen")
    return FORMATS[key][1](
        msgspec.structs.replace(result, placement=placement_of(state, summary_point(state))), state
    )


def free(path: Path) -> Path:
    """The path, or the first numbered one that no file has yet."""
    number, chosen = 1, path
    while chosen.exists():
        number += 1
        chosen = path.with_stem(f"{path.stem}-{number}")
    return chosen
