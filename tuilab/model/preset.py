"""A preset: a scenario taken from a document, with the claim it stands for."""

import msgspec

from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.parameters import Value
from tuilab.model.scenario import Sweep


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a preset comes from.

    document: the number in the document's file name (`000`). example: the code example's number, 0 for
    a claim made in prose. lines: first and last line of the code, where known.
    """

    document: str
    example: int = 0
    title: str = ""
    lines: tuple[int, int] | None = None


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A scenario with its source, its claims and what the document's code gets wrong.

    name: as typed on the command line; for a file, its name without the suffix.
    parameters: values that differ from the workload's defaults.
    marks: for a parameter, the document's own values, shown on its slider.
    wrong: what the example's code does not measure, in our words.
    advice: what to do instead.
    """

    title: str
    workload: str
    name: str = ""
    summary: str = ""
    parameters: dict[str, Value] = {}
    marks: dict[str, tuple[int, ...]] = {}
    arms: ArmSelection = ArmSelection()
    source: Source | None = None
    claims: tuple[Claim, ...] = ()
    wrong: str = ""
    advice: str = ""
    sweep: Sweep | None = None
    file: str = ""
