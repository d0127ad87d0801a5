"""What the app is started with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuilab.lab.history import Store
    from tuilab.lab.runner import RunnerFactory
    from tuilab.lab.state import LabState


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
    runner: "RunnerFactory | None" = None
    session: "Callable[[], LabState] | None" = None
    store: "Callable[[], Store] | None" = None

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Options":
        """From the command's own options; those that the app does not know are left out."""
        known = {name: value for name, value in given.items() if name in cls.__dataclass_fields__}
        return cls(**known)
