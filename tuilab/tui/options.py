"""Start options of the app."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.lab.runner import RunnerFactory
    from tuilab.lab.saved import StoreFactory
    from tuilab.lab.shown_program import ShownProgram
    from tuilab.lab.state import LabState
    from tuilab.model.environment import Environment


@dataclass(frozen=True, kw_only=True)
class Options:
    preset: str = ""
    """Name of the preset to open, or path of the user's code: `path/to/file.py:name`."""
    theme: str | None = None
    """Name of a theme, or `dark` or `light`; None for the last chosen theme."""
    ascii_only: bool | None = None
    """Draw with ASCII only; None to choose by the terminal."""
    keymap: Path | None = None
    """File with the user's key bindings; None for the default file."""
    presets: tuple[Path, ...] = ()
    """Folders with presets; () for the default folders."""
    replay: Path | None = None
    demo: bool = False
    hangup: str = "finish"
    """What happens to a run if the connection drops: `finish` continues the run without a screen; `end` stops
    the run and keeps its rounds.
    """
    rerun: bool = True
    newcomer: bool | None = None
    """Show the hint for a first visit; None to show the hint only on the first visit."""
    environments: "tuple[Environment, ...]" = ()
    """Python environments to measure in. An environment without a name replaces the lab's own; any other
    environment is added.
    """
    runner: "RunnerFactory | None" = None
    """Creates the runner for measurements; None for the real runner."""
    lab_state: "Callable[[], LabState] | None" = None
    """Creates the state that the screens show; None for a new state."""
    watching: "ShownProgram | None" = None
    store: "StoreFactory | None" = None
    """Opens the history; None for the user's own history."""
