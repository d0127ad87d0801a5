"""The doctor's findings, and the messages from its child process, which runs TensorFlow."""

from typing import Literal

import msgspec

from tuilab.model.found import Found
from tuilab.model.telemetry import GpuAccess, GpuFacts, GpuSample

ProbeStatus = Literal["ok", "warn", "fail", "skip"]


class Probe(msgspec.Struct, frozen=True):
    """The result of one check; its status is `skip` if the check does not apply to this machine."""

    name: str
    status: ProbeStatus
    detail: str
    """What the check found, in a sentence."""


class Cause(Found, frozen=True):
    """Why no GPU is visible, and the exact command that fixes it."""

    message: str = msgspec.field(name="cause")
    remedy: str = msgspec.field(name="mend", default="")
    """The command that fixes the cause; "" if nothing needs fixing."""


class GpuDevice(msgspec.Struct, frozen=True):
    """A GPU as the driver lists it: fixed properties, current state, and permissions."""

    facts: GpuFacts
    now: GpuSample
    access: GpuAccess = GpuAccess()


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """The object printed by `tuilab doctor --json`."""

    gpu_visible: bool
    """True if TensorFlow lists a GPU in this environment."""
    code: str
    cause: str
    mend: str
    probes: tuple[Probe, ...]
    further: tuple[Cause, ...] = ()
    """Obstacles to using the GPU that remain after `cause` is fixed."""
    devices: tuple[GpuDevice, ...] = ()
    elapsed_s: float = 0.0
    """Seconds that the doctor took for all checks."""


class _Stage(msgspec.Struct, frozen=True, kw_only=True, tag_field="stage"):
    pass


class Began(_Stage, frozen=True, kw_only=True, tag="began"):
    """The child process starts the step `what`. If no other message follows, that step hangs."""

    what: str


class Imported(_Stage, frozen=True, kw_only=True, tag="imported"):
    version: str = ""
    seconds: float = 0.0
    error: str = ""
    """Why importing TensorFlow failed; empty on success."""


class Built(_Stage, frozen=True, kw_only=True, tag="built"):
    """Build information, from `tf.sysconfig.get_build_info`."""

    cuda: bool
    cuda_version: str = ""
    cudnn_version: str = ""
    architectures: tuple[str, ...] = ()
    """GPU architectures in the build: `sm_80` (machine code), `compute_90` (PTX)."""


class ListedGpu(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    compute_capability: str = ""


class Listed(_Stage, frozen=True, kw_only=True, tag="listed"):
    gpus: tuple[ListedGpu, ...] = ()
    error: str = ""


class Tried(_Stage, frozen=True, kw_only=True, tag="tried"):
    """The result of a small computation on the first GPU."""

    what: str
    device: str = ""
    """The device that ran the computation."""
    seconds: float = 0.0
    error: str = ""


Stage = Began | Imported | Built | Listed | Tried

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Stage] = msgspec.json.Decoder(Stage)


def encode(stage: Stage) -> bytes:
    """Return one JSON line, newline included."""
    return _encoder.encode(stage) + b"\n"


def decode(line: bytes) -> Stage:
    """Return the stage in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
