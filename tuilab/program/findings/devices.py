"""Findings about GPUs and settings. Pure functions."""

from collections.abc import Iterator

from tuilab.analysis.words import listed, percent
from tuilab.model.program import Bottleneck, Facts, Hello
from tuilab.model.quantity import plural
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.findings.common import batches, finding
from tuilab.program.fold import STARTING
from tuilab.program.graph import ops_of

IDLE = 0.20
_MEMORY_LEFT = 0.05
VISIBLE = "CUDA_VISIBLE_DEVICES"


def devices(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that are hidden, invisible, idle, unused, shared, or nearly out of memory."""
    facts = case.of.facts
    if facts is not None and facts.opened:
        yield from _unseen(case, facts)
        yield from _idle(case)
        yield from _shared(case)
        yield from _full(case, facts)
        yield from _without_cudnn(case)


def _without_cudnn(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for recurrent layers whose settings rule out cuDNN's kernel."""
    if not case.gpus:
        return
    for name, (kind, why) in case.of.recurrent.items():
        settings = [setting.partition("=")[0] for setting in why.split(", ")]
        at = source.call_with(case.sources, kind, settings)
        text = (
            f"{why} prevents the {kind} layer {name} from using cuDNN's kernel: Keras loops over the "
            "steps instead"
        )
        loop = [row for row in ops_of(case.of) if row.layer == name]
        spent = sum(row.seconds for row in loop) / case.of.profiled_step_s if loop else 0.0
        # The layer's ops are small, so cuDNN also saves most of their launch cost.
        share = min(1.0, spent + case.of.share(*STARTING)) if case.of.seen else None
        yield finding(case, "cudnn-off", at, text, share)


def _unseen(case: Case, facts: Facts) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that the program hides and GPUs that TensorFlow does not see."""
    place, hello = case.place, case.of.hello
    physical = [row[0] for row in facts.physical if row[1] == "GPU"]
    hidden = [name for name in physical if name not in facts.visible]
    if physical and hidden and not case.gpus:
        yield finding(
            case,
            "gpu-hidden",
            source.call(case.sources, "set_visible_devices"),
            f"the program hides {plural(len(hidden), 'GPU')} from itself",
        )
    elif not physical and (why := _excluded(hello, facts, place.gpus)):
        at = source.text(case.sources, VISIBLE) if VISIBLE in facts.changed else ("", 0)
        yield finding(case, "gpu-hidden", at, why, advice="gpu-hidden, by a variable")
    elif not physical and place.gpus:
        yield finding(
            case,
            "no-gpu",
            case.step_at(),
            place.no_gpu or "this machine has a GPU, but TensorFlow sees none",
            change=place.no_gpu_change,
        )


def _excluded(hello: Hello | None, facts: Facts, gpus: int) -> str:
    """Return why CUDA_VISIBLE_DEVICES hides all GPUs from TensorFlow; "" if it does not."""
    if hello is None:
        return ""
    own = VISIBLE in facts.changed
    value = facts.changed[VISIBLE] if own else hello.environment.get(VISIBLE)
    first = (value or "").partition(",")[0].strip()
    text = f"the program sets {VISIBLE} to {value!r}" if own else f"{VISIBLE} is {value!r}"
    if value is None or (not own and not gpus):
        return ""
    if first in ("", "-1"):
        return f"{text}: TensorFlow sees no GPU, on any machine"
    # CUDA stops reading the variable at the first index without a GPU.
    if gpus and first.isdecimal() and int(first) >= gpus:
        return f"{text}: this machine has {plural(gpus, 'GPU')}, numbered from 0, so TensorFlow sees none"
    return ""


def _idle(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs that the program opened but did not use in a step."""
    of = case.of
    if not case.gpus or not of.seen:
        return
    busy = {device for _, seen in of.profiled for device in seen.devices}
    unused = [gpu for gpu in case.gpus if gpu not in busy]
    if not any(device.startswith("GPU") for device in busy):
        # A profiler window may miss a GPU's work, so report the GPU only if the host does the computing.
        if of.share("compute") >= IDLE:
            yield finding(case, "gpu-idle", case.step_at(), f"no part of a step runs on {listed(case.gpus)}")
    elif unused:
        yield finding(
            case,
            "gpu-unused",
            case.step_at(),
            f"{listed(unused)} computes nothing",
            len(unused) / len(case.gpus),
            sizes=batches(of),
        )


def _shared(case: Case) -> Iterator[Bottleneck]:
    if case.place.others and case.gpus:
        yield finding(
            case, "gpu-shared", case.step_at(), f"other programs use the GPU: {listed(case.place.others)}"
        )


def _full(case: Case, facts: Facts) -> Iterator[Bottleneck]:
    """Yield a finding for GPUs whose peak memory use was near their capacity."""
    for name, (_, peak) in facts.memory.items():
        short = name.replace("/physical_device:", "")
        whole = case.place.memory.get(short, 0)
        left = 1 - (peak << 24) / whole if whole else 1.0
        if left < _MEMORY_LEFT:
            yield finding(
                case,
                "memory",
                case.step_at(),
                f"{short} has {percent(max(0.0, left))} of its memory left at peak use",
            )


def settings(case: Case) -> Iterator[Bottleneck]:
    facts = case.of.facts
    if facts is None:
        return
    if facts.numerics:
        yield finding(
            case,
            "numerics-check",
            source.call(case.sources, "enable_check_numerics"),
            "tf.debugging.enable_check_numerics() checks every tensor for NaN",
        )
    if facts.determinism:
        yield finding(
            case,
            "determinism",
            source.call(case.sources, "enable_op_determinism"),
            "tf.config.experimental.enable_op_determinism(): slower kernels and a sequential pipeline",
        )
