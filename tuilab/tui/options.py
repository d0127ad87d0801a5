"""What the app is started with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tuilab.history.store import Store
    from tuilab.model.events import Event
    from tuilab.model.machine import Machine
    from tuilab.model.requests import Measure, Request
    from tuilab.tui.session import Session


class Runner(Protocol):
    """What the app asks of whoever runs its measurements: `runner.party.Party`, or a script."""

    @property
    def machine(self) -> "Machine | None":
        """The worker's machine, once it has said so."""

    @property
    def busy(self) -> bool:
        """Whether a request is under way or waiting."""

    async def start(self) -> None:
        """Start a worker; returns at once."""

    def add(self, host: str) -> object:
        """Have a worker on another host too, from the next `start` on."""

    async def send(self, request: "Request") -> None:
        """Pass a request on."""

    async def measure(self, request: "Measure") -> None:
        """Queue a run."""

    async def cancel(self, run: str) -> None:
        """Stop a run."""

    async def close(self) -> None:
        """End the worker."""

    def kill_now(self) -> None:
        """End the worker without waiting."""


RunnerFactory = Callable[[Callable[["Event"], None]], Runner]


@dataclass(frozen=True, kw_only=True)
class Options:
    """preset: the one to open with. theme: dark or light. ascii_only: null to find out.

    keymap: the keymap file, null for the person's own. presets: folders to read, empty for the usual ones.
    newcomer: show the hint of a first visit; null to find out.
    hangup: when the line drops, `finish` the run without a screen or `end` it with the rounds it has.
    rerun: measure again when a slider comes to rest. runner, session, store: make what runs the measurements,
    what the screens draw from, and the history; null for the real ones.
    """

    preset: str = ""
    theme: str | None = None
    ascii_only: bool | None = None
    keymap: Path | None = None
    presets: tuple[Path, ...] = ()
    replay: Path | None = None
    demo: bool = False
    hangup: str = "finish"
    rerun: bool = True
    newcomer: bool | None = None
    runner: RunnerFactory | None = None
    session: "Callable[[], Session] | None" = None
    store: "Callable[[], Store] | None" = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Options":
        """From the command's own options; those that the app does not know are left out."""
        known = {name: value for name, value in given.items() if name in cls.__dataclass_fields__}
        return cls(**known)
