"""What the app is started with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuilab.lab.lab import StoreFactory
    from tuilab.lab.runner import RunnerFactory
    from tuilab.lab.shown_program import ShownProgram
    from tuilab.lab.state import LabState
    from tuilab.model.environment import Environment


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the app is started with."""

    preset: str = ""
    """The one to open with, or `path/to/file.py:name`."""
    theme: str | None = None
    """dark, light or any other theme's name; None for the one that was chosen last."""
    ascii_only: bool | None = None
    """None to find out from the terminal."""
    keymap: Path | None = None
    """The keymap file, None for the person's own."""
    presets: tuple[Path, ...] = ()
    """Folders to read, empty for the usual ones."""
    replay: Path | None = None
    """A recording to show."""
    demo: bool = False
    """Begin with the demo."""
    hangup: str = "finish"
    """When the line drops, `finish` the run without a screen or `end` it with the rounds it has."""
    rerun: bool = True
    """Measure again when a slider stops moving."""
    newcomer: bool | None = None
    """Show the hint of a first visit; None to find out."""
    environments: "tuple[Environment, ...]" = ()
    """Pythons to measure in beside the lab's own; one without a name in its place."""
    runner: "RunnerFactory | None" = None
    """Makes what runs the measurements, None for the real one."""
    lab_state: "Callable[[], LabState] | None" = None
    """Makes the state that screens draw, None for a new one."""
    watching: "ShownProgram | None" = None
    """A program to show, which was started."""
    store: "StoreFactory | None" = None
    """Opens the history, None for the person's own."""
