"""The answer to the question `profile`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from tuilab.analysis.profiled import diagnose
from tuilab.model.arms import Arm, family
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.profile import Profile, ProfileArm, ProfileFile
from tuilab.model.sanitize import sanitize_line
from tuilab.worker.build import ArmBuild, load
from tuilab.worker.context import Context
from tuilab.worker.measure.prepare import computed, decide_device, missing_device
from tuilab.worker.measure.stopwatch import sync_of
from tuilab.worker.profile import summary
from tuilab.worker.profile.account import account
from tuilab.worker.profile.record import Record, record
from tuilab.worker.profile.threads import activity
from tuilab.worker.profile.xplane import HOST, Recording, read
from tuilab.workloads.base import Unavailable

_DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")


def profile(context: Context, body: bytes) -> Iterator[Profile | ProfileFile]:
    """A `Profile`, and a `ProfileFile` where the raw file is asked for.

    Raises InputError for values that do not fit and for an arm that cannot run here.
    """
    question = msgspec.json.decode(body, type=ProfileArm)
    workload, scenario = load(question.scenario)
    arm = question.arm
    if absent := missing_device(context.machine, arm):
        raise InputError("arm", arm.id, f"an arm whose device is here: {absent}")
    try:
        case = workload.build(ArmBuild(context, "", arm, scenario.parameters))
    except Unavailable as error:
        raise InputError("arm", arm.id, f"an arm that can run: {error}") from None
    try:
        with case.scope():
            case.call()  # traces and compiles, which is no part of the profile
            # What a copied arm's whole call gives lies on the host already.
            outputs = (case.compute or case.call)()
        device = decide_device(arm, computed(context.tf, outputs), case)
        every = context.tf.test.experimental.sync_devices
        sync = every if workload.declaration.replicas else sync_of(context.tf, arm.device)
        taken = record(context.tf, case, sync, question.seconds)
    finally:
        case.close()
    yield summarise(context.machine, workload.declaration.name, arm, device, taken, question.spans)
    if question.raw:
        yield ProfileFile(path=taken.path, data=taken.data)


def summarise(
    machine: Machine, workload: str, arm: Arm, device: str, taken: Record, most_spans: int
) -> Profile:
    """The profile of one arm from what was recorded."""
    recording = read(taken.data)
    found = activity(recording.lines)
    shared = account(found)
    rows, parts = summary.ops(shared), summary.phases(shared)
    ops_s = sum(row.seconds for row in rows)
    lanes, spans, left = summary.timeline(recording.lines, found, shared, most_spans)
    told = Profile(
        workload=workload,
        arm=arm.id,
        device=device,
        calls=len(shared.windows),
        step_s=sum(part.seconds for part in parts),
        measured_s=taken.measured_s,
        ops_s=ops_s,
        rest=summary.rest(parts, ops_s, taken.measured_s),
        phases=parts,
        devices=summary.devices(shared),
        ops=tuple(rows[: summary.MOST_OPS]),
        lanes=lanes,
        spans=spans,
        ops_left=max(0, len(rows) - summary.MOST_OPS),
        spans_left=left,
        notes=tuple(notes(machine, device or arm.device, recording, taken.calls - len(shared.windows))),
    )
    return msgspec.structs.replace(told, diagnosis=diagnose(told))


def notes(machine: Machine, device: str, recording: Recording, lost: int) -> Sequence[str]:
    """What is missing or in doubt."""
    said = [sanitize_line(error, 300) for error in recording.errors]
    if lost > 0:
        said.append(f"the profiler lost {lost} of the calls: its buffer was full")
    on_gpu = family(device) == "GPU" and bool(machine.gpus)
    if on_gpu and not any(line.device != HOST and line.events for line in recording.lines):
        said.append(_no_device_events())
    return said


def _no_device_events() -> str:
    """Why the profile of a GPU arm shows nothing on the GPU. Not seen on a GPU."""
    told = "the profiler could not see into the GPU, so its kernels and copies are missing here"
    try:
        restricted = "RmProfilingAdminOnly: 1" in _DRIVER_PARAMETERS.read_text()
    except OSError:
        restricted = False
    if restricted:
        return (
            f"{told}: the driver lets only the administrator profile (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES); "
            "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
        )
    return f"{told}; the worker's log says why (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES is the usual cause)"
