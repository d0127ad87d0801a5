"""Environment variables that determine which GPU a program sees, and how TensorFlow and XLA use it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tuilab.doctor.place import Place
from tuilab.model.doctor import Probe
from tuilab.model.sanitize import sanitize_line

_WATCHED = re.compile(
    r"^(CUDA_.*|NVIDIA_.*|XLA_FLAGS|LD_LIBRARY_PATH|LD_PRELOAD|SLURM_JOB_ID|SLURM_JOB_GPUS|SLURM_STEP_GPUS"
    # Select TF_ variables one by one, because Terraform uses the same prefix.
    r"|TF_(CPP|GPU|XLA|FORCE|MIN|CUDA|CUDNN|CUBLAS|ENABLE|DISABLE|DETERMINISTIC|USE|NUM|DEVICE|CONFIG|PLUGGABLE)(_.*)?)$"
)
VISIBLE = "CUDA_VISIBLE_DEVICES"
CONTAINER_VISIBLE = "NVIDIA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Environment:
    """The environment variables that affect the GPU. Values are sanitized and cut to 500 characters."""

    variables: dict[str, str] = field(default_factory=dict)

    @property
    def visible(self) -> str | None:
        return self.variables.get(VISIBLE)

    @property
    def hides_all(self) -> bool:
        return self.visible is not None and hides_all(self.visible)

    @property
    def container_hides_all(self) -> bool:
        """True if the setting `void` or `none` makes NVIDIA's container runtime hide all devices."""
        return self.variables.get(CONTAINER_VISIBLE, "all").strip() in ("", "void", "none")

    @property
    def job_without_gpu(self) -> bool:
        """True for a Slurm job without a GPU (OUTPUT ENVIRONMENT VARIABLES in srun(1))."""
        return "SLURM_JOB_ID" in self.variables and not (
            self.variables.get("SLURM_JOB_GPUS") or self.variables.get("SLURM_STEP_GPUS")
        )

    @property
    def library_folders(self) -> tuple[str, ...]:
        return tuple(filter(None, self.variables.get("LD_LIBRARY_PATH", "").split(":")))


def hides_all(value: str) -> bool:
    """Return True if this value of CUDA_VISIBLE_DEVICES hides every device.

    CUDA reads the list from the left and stops at the first invalid entry, so `-1,0` hides all and `0,-1`
    does not (CUDA C++ Programming Guide, “CUDA Environment Variables”).
    """
    first = value.split(",")[0].strip()
    return not (first.isdecimal() or first.startswith(("GPU-", "MIG-")))


def look(place: Place) -> Environment:
    return Environment(pick(place.environ))


def pick(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: sanitize_line(environ[name], 500) for name in sorted(environ) if _WATCHED.match(name)}


def probe(found: Environment) -> Probe:
    if not found.variables:
        return Probe("environment", "ok", "no environment variable that affects GPUs is set")
    listed = "  ".join(f"{name}={value or chr(39) * 2}" for name, value in found.variables.items())
    if found.hides_all:
        return Probe(
            "environment", "fail", f"{VISIBLE}={found.visible!r} hides every GPU; variables set: {listed}"
        )
    if found.variables.get("CUDA_LAUNCH_BLOCKING") == "1":
        return Probe(
            "environment",
            "warn",
            f"CUDA_LAUNCH_BLOCKING=1 makes every kernel launch wait; variables set: {listed}",
        )
    return Probe("environment", "ok", listed)
