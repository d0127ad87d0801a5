"""The environment of a worker: its Python interpreter and environment variables."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tuilab.model.machine import Machine
    from tuilab.model.result import MachineLine


class Environment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python environment for a worker, with another TensorFlow or other settings than the lab's own."""

    name: str = ""
    """The name shown as the arms' host; "" if the environment replaces the lab's own environment."""
    python: str
    """Path of the interpreter, with symbolic links not resolved."""
    folder: str
    variables: dict[str, str] = {}

    @property
    def settings(self) -> tuple[str, ...]:
        """The variables in the form `TF_ENABLE_ONEDNN_OPTS=0`."""
        return tuple(f"{name}={value}" for name, value in self.variables.items())


def whose(machine: "Machine | MachineLine") -> str:
    """Return the environment's folder, versions and settings in words; "" for the lab's own environment."""
    if not machine.environment:
        return ""
    versions = f"TensorFlow {machine.tensorflow}, Python {machine.python}"
    return ", ".join([machine.environment, versions, *machine.settings])
