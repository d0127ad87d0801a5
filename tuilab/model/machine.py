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
    """Product name of the device."""
    compute_capability: str = ""
    """CUDA compute capability, such as `9.0`."""
    memory: int = 0
    """Bytes that TensorFlow may use. For a GPU: the bytes that were free when TensorFlow opened it, or 0 if
    TensorFlow has not opened it.
    """

    @property
    def emulated(self) -> bool:
        """Return True if the device is software that emulates a GPU."""
        return self.description.startswith(EMULATED)


class Machine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The host, processor, devices and versions of a machine. Every saved figure refers to a machine."""

    longest_text: ClassVar[int] = 500
    """Maximum number of characters in each of the machine's strings, because tables show them; see
    `model.sanitize`.
    """

    host: str
    """The machine's host name."""
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
    """Why TensorFlow sees no GPU; "" if it sees one."""
    environment: str = ""
    """Folder of the Python environment that measured; "" for the lab's own environment."""
    settings: tuple[str, ...] = ()
    """The environment's settings, such as `TF_ENABLE_ONEDNN_OPTS=0`."""

    @property
    def gpus(self) -> tuple[Device, ...]:
        return tuple(d for d in self.devices if d.name.startswith("GPU"))

    @property
    def gpu_names(self) -> tuple[str, ...]:
        """The GPUs' product names; TensorFlow's name for a GPU without one."""
        return tuple(gpu.description or gpu.name for gpu in self.gpus)

    @property
    def emulated(self) -> bool:
        return any(gpu.emulated for gpu in self.gpus)

    @property
    def emulated_note(self) -> str:
        """The sentence that marks the machine's output as emulated: `EMULATED: …`; "" without an emulated
        GPU.
        """
        note = f"{EMULATED}: the GPU is software for tests, and its figures are not from a real GPU."
        return note if self.emulated else ""

    def mark_title(self, title: str) -> str:
        """Return the title, with a suffix as in `Demo (EMULATED GPU)` if the machine's GPU is emulated."""
        return f"{title} ({EMULATED} GPU)" if self.emulated else title

    @property
    def gpu_models(self) -> tuple[str, ...]:
        """Names and compute capabilities of the GPUs: `GPU:0 NVIDIA H100 9.0`."""
        return tuple(f"{g.name} {g.description} {g.compute_capability}".rstrip() for g in self.gpus)

    @property
    def key(self) -> str:
        """A hash of the machine's host name, processor, memory and software, without its GPUs."""
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
