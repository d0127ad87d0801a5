"""The machine on which a figure was measured."""

import msgspec

OPEN_GPUS = "TUILAB_GPUS"
"""Environment of a worker: numbers of the GPUs to open, `0` where it is not set; empty for none."""


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device as TensorFlow lists it.

    memory: bytes that TensorFlow may use; of a GPU what is free when it is opened, 0 where it is not open.
    """

    name: str
    description: str = ""
    compute_capability: str = ""
    memory: int = 0


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Host, processor, devices and versions. Every stored figure carries one."""

    host: str
    cpu: str
    cores: int
    memory: int
    os: str
    python: str
    tensorflow: str
    devices: tuple[Device, ...] = ()
    cuda_build: bool = False
    cuda_version: str = ""
    driver: str = ""
    tuilab: str = ""
    no_gpu: str = ""

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that TensorFlow calls a GPU."""
        return tuple(d for d in self.devices if d.name.startswith("GPU"))
