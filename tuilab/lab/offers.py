"""Rows of a list from which the user chooses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # imported only for type checking, because the first paint does not need this module
    from tuilab.model.preset import Preset


class Offer(NamedTuple):
    key: str
    """Identifies the chosen row."""
    label: str
    detail: str = ""


def of_presets(presets: "Sequence[Preset]") -> list[Offer]:
    """Return a row for each preset. The row's key is the preset's index."""
    out = []
    for index, preset in enumerate(presets):
        settings = " ".join(f"{name}={value}" for name, value in preset.parameters.items())
        out.append(Offer(str(index), preset.title, f"{preset.workload} {settings}"))
    return out
