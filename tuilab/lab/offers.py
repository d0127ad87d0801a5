"""The choices in a list that is shown to the user."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    # imported only for type checking: the first paint does not need it
    from tuilab.model.preset import Preset


class Offer(NamedTuple):
    """One row of a list."""

    key: str
    """The value that identifies the row when the user chooses it."""
    label: str
    detail: str = ""


def of_presets(presets: "Sequence[Preset]") -> list[Offer]:
    """Return a row for each preset with its title and description. The key is the preset's index."""
    out = []
    for index, preset in enumerate(presets):
        settings = " ".join(f"{name}={value}" for name, value in preset.parameters.items())
        out.append(Offer(str(index), preset.title, f"{preset.workload} {settings}"))
    return out
