import hashlib
from typing import ClassVar

import msgspec

from tuilab.model.verdicts import EMULATED

OPEN_GPUS = "TUILAB_GPUS"
"""Environment variable for a worker: the indices of the GPUs to open; `0` by default, empty for no GPU."""


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device as TensorFlow lists it."""

    name: str
    """TensorFlow's short name, such as `CPU:0` or `GPU:1`."""
    description: str = ""
    """Product name."""
    compute_capability: str = ""
    """CUDA compute capability, such as `9.0`."""
    memory: int = 0
    """Bytes that TensorFlow may use; for a GPU, the bytes that were free when it was opened; 0 if it is not
    open."""

    @property
    def emulated(self) -> bool:
        """Return True if the device is emulated in software, so that its figures do not come from a
        real GPU.
        """
        return self.description.startswith(EMULATED)


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Host, processor, devices and versions of a machine. Every saved figure refers to a machine."""

    longest_text: ClassVar[int] = 500
    """Maximum number of characters in each string, because tables show these strings (see `model.sanitize`).
    """

    host: str
    """The machine's own name."""
    cpu: str
    """Name of the processor."""
    cores: int
    """Number of usable logical CPUs."""
    memory: int
    """Bytes of main memory."""
    os: str
    python: str
    tensorflow: str
    devices: tuple[Device, ...] = ()
    cuda_build: bool = False
    """True if TensorFlow was built with CUDA."""
    cuda_version: str = ""
    """CUDA version that TensorFlow was built for."""
    driver: str = ""
    """Version of the NVIDIA driver."""
    tuilab: str = ""
    no_gpu: str = ""
    """Why no GPU is visible; "" if a GPU is visible."""
    environment: str = ""
    """Folder of the Python environment that measured; "" for the lab's own."""
    settings: tuple[str, ...] = ()
    """Settings of `environment`: `TF_ENABLE_ONEDNN_OPTS=0`."""

    @property
    def gpus(self) -> tuple[Device, ...]:
        return tuple(d for d in self.devices if d.name.startswith("GPU"))

    @property
    def emulated(self) -> bool:
        """True if one of the machine's GPUs is emulated in software."""
        return any(gpu.emulated for gpu in self.gpus)

    @property
    def emulated_note(self) -> str:
        """The sentence that marks output as emulated: `EMULATED: …`; "" for a real GPU."""
        note = f"{EMULATED}: the GPU is software for tests, and its figures are not from a real GPU."
        return note if self.emulated else ""

    def mark_title(self, title: str) -> str:
        """Return the title for results from this machine, such as `Demo (EMULATED GPU)` if its GPU is
        emulated.
        """
        return f"{title} ({EMULATED} GPU)" if self.emulated else title

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """The fixed properties of the GPUs, without free memory: `GPU:0 NVIDIA H100 9.0`."""
        return tuple(f"{g.name} {g.description} {g.compute_capability}".rstrip() for g in self.gpus)

    @property
    def key(self) -> str:
        """A key that changes if the machine's capabilities change. GPUs are not part of it; they are compared
        separately, by name.
        """
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
