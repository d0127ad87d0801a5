"""Holds the objects that the parts of the main screen share."""

from dataclasses import dataclass

from textual.screen import Screen

from tuilab.lab import Lab
from tuilab.presentation.view_options import ViewOptions
from tuilab.tui.panels.controls import Controls
from tuilab.tui.panels.presets import PresetsPanel
from tuilab.tui.panels.views import Views
from tuilab.tui.parts.corner import Corner


@dataclass(frozen=True)
class Context:
    screen: Screen[None]
    lab: Lab
    corner: Corner
    panel: PresetsPanel
    views: Views
    controls: Controls
    viewing: ViewOptions
