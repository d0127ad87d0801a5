"""What a user may choose from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tuilab.model.preset import Preset  # after the first paint


class Offer(NamedTuple):
    """One row of a list."""

    key: str
    """What choosing it returns."""
    label: str
    detail: str = ""
    """A few words more."""


def of_presets(presets: "Sequence[Preset]") -> list[Offer]:
    """Return each preset's title with what it measures, by its place among them."""
    out = []
    for index, preset in enumerate(presets):
        settings = " ".join(f"{name}={value}" for name, value in preset.parameters.items())
        out.append(Offer(str(index), preset.title, f"{preset.workload} {settings}"))
    return out
