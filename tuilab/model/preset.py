"""A preset: a scenario taken from a document, with the claim it stands for."""

import msgspec

from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.parameters import Value
from tuilab.model.scenario import Sweep


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a preset comes from."""

    document: str
    """The number in the document's file name (`000`)."""
    example: int = 0
    """The code example's number, 0 for a claim made in prose."""
    title: str = ""
    """The document's title."""
    lines: tuple[int, int] | None = None
    """First and last line of the code, where known."""


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario with its source, its claims and what the document's code gets wrong."""

    title: str
    """In a few words, for a list."""
    workload: str
    """The name of a workload."""
    name: str = ""
    """As typed on the command line; for a file, its name without the suffix."""
    summary: str = ""
    """What it shows, in a sentence or two."""
    parameters: dict[str, Value] = {}
    """Values that differ from the workload's defaults."""
    marks: dict[str, tuple[int, ...]] = {}
    """For a parameter, the document's own values, shown on its slider."""
    arms: ArmSelection = ArmSelection()
    """Which variants are measured side by side."""
    source: Source | None = None
    """The document that it is from."""
    claims: tuple[Claim, ...] = ()
    """What the document states, as conditions."""
    wrong: str = ""
    """What the example's code does not measure, in our words."""
    advice: str = ""
    """What to do instead."""
    sweep: Sweep | None = None
    """Axes to sweep."""
    file: str = ""
    """`path/to/file.py:function` of a user's own code."""
