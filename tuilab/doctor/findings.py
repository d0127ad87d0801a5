"""All findings of the probes, and properties that several causes use."""

import re
from dataclasses import dataclass, field

from tuilab.doctor import cuda_errors
from tuilab.doctor.container import Container
from tuilab.doctor.devices import Devices
from tuilab.doctor.environment import Environment
from tuilab.doctor.hardware import Hardware
from tuilab.doctor.kernel_driver import KernelDriver
from tuilab.doctor.libcuda import Libcuda
from tuilab.doctor.libraries import Libraries
from tuilab.doctor.packages import Packages
from tuilab.doctor.sandbox import Sandbox
from tuilab.doctor.tensorflow import TensorFlow
from tuilab.model.doctor import ListedGpu


@dataclass(frozen=True)
class Findings:
    """One finding per probe. A probe without a result has an empty finding, and its name is in `silent`."""

    python: str = "python"
    packages: Packages = field(default_factory=Packages)
    hardware: Hardware = field(default_factory=Hardware)
    kernel: KernelDriver = field(default_factory=KernelDriver)
    container: Container = field(default_factory=Container)
    environment: Environment = field(default_factory=Environment)
    libcuda: Libcuda = field(default_factory=Libcuda)
    unhidden: Libcuda | None = None
    libraries: Libraries = field(default_factory=Libraries)
    tensorflow: TensorFlow = field(default_factory=TensorFlow)
    devices: Devices = field(default_factory=Devices)
    sandbox: Sandbox = field(default_factory=Sandbox)
    silent: tuple[str, ...] = ()

    @property
    def gpus(self) -> tuple[ListedGpu, ...]:
        """The GPUs that TensorFlow lists. Only these decide `gpu_visible`."""
        return self.tensorflow.gpus

    @property
    def init(self) -> int | None:
        """The result of cuInit, from the doctor's own call or else from TensorFlow's message. TensorFlow
        reports 303 if it cannot open libcuda.
        """
        if self.libcuda.init is not None:
            return self.libcuda.init
        line = self.tensorflow.log.text("cuinit")
        number = re.search(r"\((\d+)\)", line)
        word = re.search(r"CUDA_ERROR_\w+", line)
        if word:
            return cuda_errors.CODES.get(word[0])
        return int(number[1]) if number else None

    @property
    def libcuda_missing(self) -> bool:
        """True if the loader finds no libcuda, according to the doctor's own test or to TensorFlow."""
        if self.libcuda.is_loaded or self.libcuda.hung or self.libcuda.crashed:
            return False
        return bool(self.libcuda.error) or self.init == cuda_errors.SHARED_OBJECT_INIT_FAILED

    @property
    def driver_works(self) -> bool:
        return self.libcuda.init == 0 and bool(self.libcuda.count)

    @property
    def kernel_absent(self) -> bool:
        """True if the kernel has no NVIDIA driver and there is no NVIDIA device file."""
        return not self.kernel.loaded and not self.kernel.nodes
