"""What a command says on standard error while it works."""

import sys

from tuilab.model.events import (
    ArmStatus,
    Caveat,
    Event,
    Finished,
    Progress,
    Ready,
    Round,
    Warming,
    WorkerExited,
)
from tuilab.model.quantity import count

SAID_AT_ONCE = ("unlike-software",)
"""Codes of doubts that a person may want to stop a run for."""


class Narrator:
    """Says each event in a line; on a terminal the line is overwritten, elsewhere each stage is said once."""

    def __init__(self, quiet: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._said: dict[str, str] = {}
        self._open = False

    def __call__(self, event: Event) -> None:
        match event:
            case Warming():
                self._say(_of(event.origin) + event.stage, f" … {event.elapsed_s:.0f} s", event.origin)
            case Ready():
                self._line(f"{_of(event.origin)}ready after {event.import_s + event.start_s:.1f} s")
            case WorkerExited() if not event.expected:
                self._line(event.message)
            case Caveat() if event.code in SAID_AT_ONCE:
                self._line(event.message)
            case Progress():
                self._say(event.stage + (f" {event.arm}" if event.arm else ""), _share(event))
            case Round():
                self._say("measuring", f", round {event.index + 1}")
            case ArmStatus() if event.status != "ok":
                self._line(f"{event.arm}: {event.status}: {event.reason}")
            case Finished():
                self.end()

    def _say(self, stage: str, detail: str, origin: str = "") -> None:
        if self._quiet:
            return
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{stage}{detail}")
            self._open = True
        elif stage != self._said.get(origin):
            sys.stderr.write(stage + "\n")
        self._said[origin] = stage
        sys.stderr.flush()

    def _line(self, text: str) -> None:
        if not self._quiet:
            self.end()
            sys.stderr.write(text + "\n")

    def end(self) -> None:
        """Clear the line that is being overwritten."""
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False


def _of(host: str) -> str:
    return f"{host}: " if host else ""


def _share(event: Progress) -> str:
    if not event.total:
        return ""
    return f", {count(event.done)} of {count(event.total)} {event.unit}".rstrip()
