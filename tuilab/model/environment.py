"""The environment of a worker: its Python interpreter and environment variables."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tuilab.model.machine import Machine
    from tuilab.model.result import MachineLine


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python environment whose TensorFlow or settings differ from the lab's own."""

    name: str = ""
    """Name shown as the arms' host; "" if it replaces the lab's own environment."""
    python: str
    """Path of the interpreter; links are not followed."""
    folder: str
    variables: dict[str, str] = {}

    @property
    def settings(self) -> tuple[str, ...]:
        """The variables as the user typed them: `TF_ENABLE_ONEDNN_OPTS=0`."""
        return tuple(f"{name}={value}" for name, value in self.variables.items())


def whose(machine: "Machine | MachineLine") -> str:
    """Return a description of the environment: folder, versions and settings; "" for the lab's own."""
    if not machine.environment:
        return ""
    versions = f"TensorFlow {machine.tensorflow}, Python {machine.python}"
    return ", ".join([machine.environment, versions, *machine.settings])
