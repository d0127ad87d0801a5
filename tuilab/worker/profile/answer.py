"""Profiles an arm to answer the question `profile`."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from tuilab.analysis.profiled import diagnose
from tuilab.model.arms import Arm, family
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.profile import PhaseTime, Profile, ProfileArm, ProfileFile
from tuilab.model.sanitize import sanitize_line
from tuilab.profile import summary
from tuilab.profile.sums import PICO, sums
from tuilab.profile.threads import activity
from tuilab.profile.xplane import HOST, Recording, read
from tuilab.worker.build import ArmBuild, load
from tuilab.worker.context import Context
from tuilab.worker.measure.phases import account_of, own_python
from tuilab.worker.measure.prepare import computed, decide_device, missing_device
from tuilab.worker.measure.stopwatch import Stopwatch, sync_of
from tuilab.worker.profile.record import Record, record
from tuilab.workloads.base import Case, Unavailable

_DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")


def profile(context: Context, body: bytes) -> Iterator[Profile | ProfileFile]:
    """Yield a `Profile`, and a `ProfileFile` if the raw file is requested.

    Raises InputError for invalid values and for an arm that cannot run here.
    """
    question = msgspec.json.decode(body, type=ProfileArm)
    workload, scenario = load(question.scenario)
    arm = question.arm
    if absent := missing_device(context.machine, arm):
        raise InputError("arm", arm.id, f"an arm on an available device: {absent}")
    try:
        case = workload.build(ArmBuild(context, "", arm, scenario.parameters))
    except Unavailable as error:
        raise InputError("arm", arm.id, f"an arm that can run: {error}") from None
    try:
        with case.scope():
            case.call()  # trace and compile now, outside the profile
            # A full call of an arm with copies returns results that are already on the host.
            outputs = (case.compute or case.call)()
        device = decide_device(arm, computed(context.tf, outputs), case)
        every = context.tf.test.experimental.sync_devices
        sync = every if workload.declaration.replicas else sync_of(context.tf, arm.device)
        stopwatch = Stopwatch(sync)
        call_s = stopwatch.block(case, case.least_calls) / case.least_calls
        taken = record(context.tf, case, stopwatch, question.seconds, call_s)
        own = partial(own_python, context.tf, case, sync)
        name, machine = workload.declaration.name, context.machine
        told = summarise(machine, name, arm, device, case, taken, question.spans, own)
    finally:
        case.close()
    yield told
    if question.raw:
        yield ProfileFile(path=taken.path, data=taken.data)


def summarise(
    machine: Machine,
    workload: str,
    arm: Arm,
    device: str,
    case: Case,
    taken: Record,
    most_spans: int,
    own: Callable[[], Sequence[float]] | None = None,
) -> Profile:
    """Return the profile of one arm from its recording.

    own: a function that measures the seconds that user code in Python takes in some calls.
    """
    recording = read(taken.data)
    found = activity(recording.lines)
    shared = sums(found)
    whole = account_of(
        recording, shared, taken.measured_s, device=device, drained=case.drained, own_python=own
    )
    step_s = sum(shared.phases.values()) * PICO / max(1, len(shared.calls))
    computed_s = shared.phases.get("compute", 0.0) * PICO / max(1, len(shared.calls))
    rows = summary.ops(shared, whole.seconds("compute") / computed_s if computed_s else 1.0)
    lanes, spans, left = summary.timeline(recording.lines, found, shared, most_spans)
    told = Profile(
        workload=workload,
        arm=arm.id,
        device=device,
        calls=len(shared.windows),
        step_s=step_s,
        measured_s=taken.measured_s,
        ops_s=sum(row.seconds for row in rows),
        rest=summary.rest(whole, step_s),
        phases=tuple(
            PhaseTime(phase=part.phase, seconds=part.seconds, share=whole.share(part.phase))
            for part in whole.parts
        ),
        account=whole,
        devices=summary.devices(shared),
        ops=tuple(summary.shortened(rows)),
        lanes=lanes,
        spans=spans,
        ops_left=max(0, len(rows) - summary.MOST_OPS),
        spans_left=left,
        notes=tuple(notes(machine, device or arm.device, recording, taken.calls - len(shared.windows))),
    )
    return msgspec.structs.replace(told, diagnosis=diagnose(told))


def notes(machine: Machine, device: str, recording: Recording, lost: int) -> Sequence[str]:
    lines = [sanitize_line(error, 300) for error in recording.errors]
    if lost > 0:
        lines.append(f"the profiler lost {lost} of the calls: its buffer was full")
    on_gpu = family(device) == "GPU" and bool(machine.gpus)
    if on_gpu and not any(line.device != HOST and line.events for line in recording.lines):
        lines.append(_no_device_events())
    if on_gpu and machine.emulated:
        lines.append(machine.emulated_note)
    return lines


def _no_device_events() -> str:
    text = "the profiler could not record the GPU, so its kernels and copies are missing here"
    try:
        restricted = "RmProfilingAdminOnly: 1" in _DRIVER_PARAMETERS.read_text()
    except OSError:
        restricted = False
    if restricted:
        return (
            f"{text}: the driver allows only administrators to profile "
            "(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES); "
            "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
        )
    return (
        f"{text}; the worker's log gives the reason (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES is the usual cause)"
    )
