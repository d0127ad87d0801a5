"""Messages on standard error while a command works: state, progress, and remaining time."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Mapping

from tuilab.cli.said import broken
from tuilab.model.arms import labels
from tuilab.model.environment import whose
from tuilab.model.events import (
    ArmStatus,
    Caveat,
    Event,
    Finished,
    Progress,
    Ready,
    Round,
    RunStarted,
    Warming,
    WorkerExited,
)
from tuilab.model.quantity import count

SAID_AT_ONCE = ("unlike-software",)
"""Codes of caveats that are printed immediately, because a user may want to stop the run."""
EACH_ARM = ("warming up",)
"""Stages that are reported for each arm, because they take seconds."""
BAR = 20


class Narrator:
    """Prints a line for each event. On a terminal, status lines overwrite each other."""

    def __init__(self, quiet: bool = False, answer: Callable[[], str] = lambda: "") -> None:
        """answer: returns the run's preliminary answer, which is printed after the first of several
        processes.
        """
        self._answer = answer
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet
        self._said: set[tuple[str, str]] = set()
        self._absent: set[str] = set()
        self._ready: set[str] = set()
        self._labels: Mapping[str, str] = {}
        self._limit_s = 0.0
        self._open = False

    def __call__(self, event: Event) -> None:
        # The reader may have closed the output; the run continues.
        with contextlib.suppress(OSError, ValueError):
            self._narrate(event)

    def _narrate(self, event: Event) -> None:
        match event:
            case Warming():
                self._say(
                    _host_prefix(event.origin) + event.stage, f" … {event.elapsed_s:.0f} s", event.origin
                )
            case Ready() if event.origin not in self._ready:
                self._ready.add(event.origin)  # report only the first worker of each host
                where = f" in {words}" if (words := whose(event.machine)) else ""
                took = event.import_s + event.start_s
                self._line(f"{_host_prefix(event.origin)}ready after {took:.1f} s{where}")
            case WorkerExited() if not event.expected:
                self._line(event.message)
            case RunStarted():
                names = labels(event.arms)
                self._labels = {arm.id: name for arm, name in zip(event.arms, names, strict=True)}
                self._said.clear()
                if event.worker == 1 and not self._quiet and (answer := self._answer()):
                    self._line(f"after the first process: {answer}")
                self._limit_s = event.budget.limit_s
            case Caveat() if event.code in SAID_AT_ONCE:
                self._line(event.message)
            case Progress():
                arm = f" {self._labels.get(event.arm, event.arm)}" if event.arm else ""
                named = arm if event.stage in EACH_ARM else ""
                self._say(event.stage + named, self._far(event, "" if named else arm))
            case Round():
                done = min(1.0, event.elapsed_s / self._limit_s) if self._limit_s else 0.0
                left = max(0.0, self._limit_s - event.elapsed_s)
                more = f", at most {left:.0f} s more" if self._limit_s else ""
                self._say("measuring", f" {_bar(done)} round {event.index + 1}{more}")
            case ArmStatus() if event.status != "ok" and event.reason not in self._absent:
                # Several arms often share a reason, such as a missing GPU. Print each reason once; the result
                # counts the arms.
                self._absent.add(event.reason)
                # An error in the user's code has a detail, which is printed once the run has finished.
                why = "" if event.detail else f": {event.reason}"
                self._line(f"{self._labels.get(event.arm, event.arm)}: {event.status}{why}")
            case Finished():
                self.end()

    def _far(self, event: Progress, arm: str) -> str:
        if not event.total:
            return arm
        share = min(1.0, event.done / event.total)
        return f"{arm} {_bar(share)} {count(event.done)} of {count(event.total)} {event.unit}".rstrip()

    def _say(self, state: str, detail: str, origin: str = "") -> None:
        if self._quiet:
            return
        if self._terminal:
            # A line that wraps cannot be overwritten.
            sys.stderr.write("\r\x1b[K" + f"{state}{detail}"[: shutil.get_terminal_size().columns - 1])
            self._open = True
        elif (origin, state) not in self._said:
            sys.stderr.write(state + "\n")
        self._said.add((origin, state))
        sys.stderr.flush()

    def _line(self, text: str) -> None:
        if not self._quiet:
            self.end()
            sys.stderr.write(broken(text) + "\n")

    def end(self) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False


def _host_prefix(host: str) -> str:
    return f"{host}: " if host else ""


def _bar(share: float) -> str:
    full = round(share * BAR)
    return "━" * full + "╌" * (BAR - full)
