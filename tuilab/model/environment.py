"""Somebody's environment: the Python that a worker runs in, and what is set for it."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tuilab.model.machine import Machine
    from tuilab.model.result import MachineLine


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python with a TensorFlow that is not, or not as it stands, the lab's own."""

    name: str = ""
    """By which arms know it as their host; "" where it takes the place of the lab's own."""
    python: str
    """The interpreter's path, links to it not followed."""
    folder: str
    """Of the environment."""
    variables: dict[str, str] = {}
    """What is set for its workers alongside what is set here."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The variables as a user gives them: `TF_ENABLE_ONEDNN_OPTS=0`."""
        return tuple(f"{name}={value}" for name, value in self.variables.items())


def whose(machine: "Machine | MachineLine") -> str:
    """Return the environment that measured, in words: its folder, versions and settings; "" of the lab's
    own."""
    if not machine.environment:
        return ""
    versions = f"TensorFlow {machine.tensorflow}, Python {machine.python}"
    return ", ".join([machine.environment, versions, *machine.settings])
