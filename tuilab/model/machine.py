"""The machine on which a figure was measured."""

import hashlib
from typing import ClassVar

import msgspec

OPEN_GPUS = "TUILAB_GPUS"
"""Environment of a worker: numbers of the GPUs to open, `0` where it is not set; empty for none."""


EMULATED = "EMULATED"
"""What the device of the tests, made of software, calls itself."""


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device as TensorFlow lists it."""

    name: str
    """`CPU:0`, `GPU:1`."""
    description: str = ""
    """The name of the product."""
    compute_capability: str = ""
    """`9.0`."""
    memory: int = 0
    """Bytes that TensorFlow may use; of a GPU what is free when it is opened, 0 if it is not open."""

    @property
    def emulated(self) -> bool:
        """Return whether it is software, none of whose figures is a GPU's."""
        return self.description.startswith(EMULATED)


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Host, processor, devices and versions. Every stored figure carries one."""

    longest_text: ClassVar[int] = 500
    """Characters of any of its texts, which stand in tables: see `model.sanitize`."""

    host: str
    """Its own name."""
    cpu: str
    """The name of the processor."""
    cores: int
    """Logical CPUs that may be used."""
    memory: int
    """Bytes."""
    os: str
    python: str
    tensorflow: str
    devices: tuple[Device, ...] = ()
    cuda_build: bool = False
    """TensorFlow was built with CUDA."""
    cuda_version: str = ""
    """That TensorFlow was built for."""
    driver: str = ""
    """Version of the NVIDIA driver."""
    tuilab: str = ""
    no_gpu: str = ""
    """Why no GPU is visible, "" where one is."""
    environment: str = ""
    """The folder of the environment whose Python measured, "" for the lab's own."""
    settings: tuple[str, ...] = ()
    """What was set for that environment: `TF_ENABLE_ONEDNN_OPTS=0`."""

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that TensorFlow calls a GPU."""
        return tuple(d for d in self.devices if d.name.startswith("GPU"))

    @property
    def emulated(self) -> bool:
        """Whether one of its GPUs is software: what is said of such a machine's GPU has `EMULATED`."""
        return any(gpu.emulated for gpu in self.gpus)

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """What does not change while the GPUs stay: `GPU:0 NVIDIA H100 9.0`. Their free memory does."""
        return tuple(f"{g.name} {g.description} {g.compute_capability}".rstrip() for g in self.gpus)

    @property
    def key(self) -> str:
        """A word that changes with what the machine can do; its GPUs are told apart by name next to it."""
        parts: tuple[object, ...] = (
            self.host,
            self.cpu,
            self.cores,
            self.memory,
            self.tensorflow,
            self.driver,
        )
        if self.environment:
            parts += (self.environment, self.settings)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
