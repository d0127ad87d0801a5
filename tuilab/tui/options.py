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
    """The preset to open, or `path/to/file.py:name`."""
    theme: str | None = None
    """Name of the theme, such as dark or light; None for the last chosen theme."""
    ascii_only: bool | None = None
    """Whether to draw with ASCII only; None to detect it from the terminal."""
    keymap: Path | None = None
    """Path of the keymap file; None for the user's own file."""
    presets: tuple[Path, ...] = ()
    """Preset folders to read; empty for the default folders."""
    replay: Path | None = None
    demo: bool = False
    hangup: str = "finish"
    """What to do if the connection drops: `finish` the run without a screen, or `end` it with the rounds so
    far.
    """
    rerun: bool = True
    """Whether to measure again when a slider comes to rest."""
    newcomer: bool | None = None
    """Whether to show the hint for a first visit; None to show it on the first visit."""
    environments: "tuple[Environment, ...]" = ()
    """Python environments to measure in, in addition to the lab's own environment. An unnamed environment
    replaces the lab's own.
    """
    runner: "RunnerFactory | None" = None
    """A function that creates the runner for measurements; None for the real runner."""
    lab_state: "Callable[[], LabState] | None" = None
    """A function that creates the state that the screens draw; None for a new state."""
    watching: "ShownProgram | None" = None
    """A program that is already being watched and must be shown."""
    store: "StoreFactory | None" = None
    """A function that opens the history; None for the user's own history."""
