"""Finds the reason for an op's placement. Pure functions of the known facts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from tuilab.analysis.words import listed
from tuilab.model.arms import family
from tuilab.model.ops import ALWAYS_ON_HOST, HOST_DTYPES, NO_LAUNCH, PYTHON
from tuilab.worker.placement.kernels import Kernel, OpKernels, Types
from tuilab.worker.placement.registry import has_gpu_kernels, known

Code = Literal[
    "kernel",
    "no-gpu",
    "scope",
    "no-kernel",
    "no-kernel-for-dtype",
    "refused",
    "host-memory",
    "resource",
    "colocation",
    "input-pipeline",
    "unknown",
]


@dataclass(frozen=True)
class Reason:
    """A cause with its evidence. code: a stable name for scripts."""

    code: Code
    text: str
    evidence: str


@dataclass(frozen=True)
class Forecast:
    """A prediction: whether this build of TensorFlow would run an op on a GPU that holds the op's data, and
    why.
    """

    gpu: bool
    reason: Reason
    kernel: Kernel | None = None


@dataclass(frozen=True)
class Placed:
    """The placement of one op. Devices are short names (`GPU:0`); "" for none.

    memory: the device that holds the op's first output. resource_on: the device of a variable or other
    resource that the op uses. colocated_with: the node with which the op must share a device. pipeline: True
    if the op runs inside a tf.data function.
    """

    op: str
    types: Types = field(default_factory=dict)
    requested: str = ""
    observed: str = ""
    memory: str = ""
    resource_on: str = ""
    colocated_with: str = ""
    pipeline: bool = False


@dataclass(frozen=True)
class Surroundings:
    """Facts that apply to every op: the GPUs that TensorFlow lists, or the reason why it lists none."""

    gpus: tuple[str, ...] = ()
    no_gpu: str = ""
    gpu_kernels: bool = True


# Ops of the tf.data runtime, whose kernels are on the host.
_PIPELINE = ("Dataset", "Iterator")


def forecast(kernels: OpKernels, types: Types, gpu_kernels: bool = True) -> Forecast:
    """Return whether a GPU would run the op with these types, using this build of TensorFlow.

    types: if the main type attribute is missing, a kernel for any dtype counts. gpu_kernels: False for a
    build without GPU kernels.
    """
    dtype = types.get(kernels.main, "")
    allowed = kernels.allowed.get(kernels.main, ())
    if dtype and allowed and dtype not in allowed:
        return Forecast(False, _refused(kernels, dtype, allowed))
    kernel = kernels.on_gpu(types)
    if kernel is None:
        return Forecast(False, _missing(kernels, dtype, gpu_kernels))
    if followed := _followed_resource(kernels):
        text = f"it runs on the device of its {followed}: the host, unless the data was prefetched to the GPU"
        if followed == "queue":
            text = "it runs on the device of its queue, and a queue keeps its elements in host memory"
        evidence = f"the handle of the {followed} decides the op's device; a {kernel.device} kernel exists"
        return Forecast(False, Reason("resource", text, evidence), kernel)
    host = kernels.host_arguments(kernel, types)
    named = f"{kernel.device} kernel for {dtype}" if dtype else f"{kernel.device} kernel"
    wants = f"needs {listed(host)} in host memory"
    if kernels.answers_on_host(kernel, types):
        text = f"its {dtype} kernel works in host memory" if dtype else "its kernel works in host memory"
        return Forecast(False, Reason("host-memory", text, f"the {named} {wants}"), kernel)
    evidence = f"the {named} is registered" + (f"; it {wants}" if host else "")
    text = f"GPU kernel for {dtype}" if dtype else "GPU kernel"
    text += calls_python(kernels.op)
    return Forecast(True, Reason("kernel", text, evidence), kernel)


def calls_python(op: str) -> str:
    """Return a clause about an op's GPU kernel if the op calls Python code; "" for any other op."""
    return ", which calls Python code on the CPU" if op in PYTHON else ""


@lru_cache(maxsize=4096)
def _stays(op: str, types: tuple[tuple[str, str], ...], host_results: bool) -> str:
    would = forecast(known(op), dict(types))
    if would.gpu or would.reason.code in ("resource", "input-pipeline", "refused"):
        return ""
    # Shape arithmetic on a few integers belongs on the host by design.
    return "" if would.reason.code == "host-memory" and host_results else would.reason.text


def stays(op: str, types: Types, made: Sequence[str]) -> str:
    """Return why the op runs on the CPU on every machine; "" if a GPU runs it, or if it only moves data.

    made: the dtypes of its results.
    """
    if op in NO_LAUNCH or not has_gpu_kernels():
        return ""
    small = HOST_DTYPES.issuperset(made) and ALWAYS_ON_HOST.isdisjoint(made)
    return _stays(op, tuple(sorted(types.items())), small)


def _refused(kernels: OpKernels, dtype: str, allowed: Sequence[str]) -> Reason:
    return Reason(
        "refused",
        f"{kernels.op} does not take {dtype}: it takes {listed(allowed, 'or')}",
        f"the definition of {kernels.op} allows {kernels.main} = {listed(allowed)}",
    )


def _missing(kernels: OpKernels, dtype: str, gpu_kernels: bool) -> Reason:
    registered = kernels.gpu_dtypes()
    dtypes = [d for d in registered if forecast(kernels, {kernels.main: d}).gpu]
    if not gpu_kernels:
        return Reason(
            "no-kernel",
            "this TensorFlow is built without GPU kernels",
            "not even MatMul has a registered GPU kernel",
        )
    if dtypes and dtype:
        return Reason(
            "no-kernel-for-dtype",
            f"no GPU kernel for {dtype}; there is one for {listed(dtypes)}",
            f"the registry lists {kernels.op} on the GPU for {kernels.main} = {listed(dtypes)}",
        )
    if registered and dtype:
        # The GPU kernels of some ops, such as Qr, keep their arguments in host memory, so the CPU computes
        # every dtype, even one with a GPU kernel.
        return Reason(
            "no-kernel-for-dtype",
            f"no GPU kernel for {dtype}; those for {listed(registered)} work in host memory",
            f"the registry lists {kernels.op} on the GPU for {kernels.main} = {listed(registered)}, "
            "all in host memory",
        )
    if not kernels.kernels:
        return Reason(
            "no-kernel",
            "no kernel is registered for it",
            f"the registry lists {kernels.op} for no device, not counting labeled kernels",
        )
    if is_pipeline(kernels.op):
        return Reason(
            "input-pipeline",
            "the input pipeline runs on the host",
            f"{kernels.op} belongs to tf.data and has kernels for {_devices(kernels)} only",
        )
    only = f"{_devices(kernels)} only"
    return Reason("no-kernel", f"no GPU kernel: {only}", f"the registry lists {kernels.op} for {only}")


def _followed_resource(kernels: OpKernels) -> str:
    if not kernels.inputs or kernels.inputs[0].dtype != "resource":
        return ""
    words = {"iterator": kernels.op.startswith("IteratorGet"), "queue": kernels.op.startswith("Queue")}
    return next((word for word, there in words.items() if there), "")


def _devices(kernels: OpKernels) -> str:
    return listed(sorted({k.device for k in kernels.kernels}))


def is_pipeline(op: str) -> bool:
    return any(word in op for word in _PIPELINE)


def causes(placed: Placed, kernels: OpKernels, around: Surroundings) -> list[Reason]:
    """Return every reason for the op's placement, starting with the first sufficient one.

    Follows the order of TensorFlow's decision: no GPU, the input pipeline, the device that the code
    requested, kernels, their memory, resources, colocation.
    """
    would = forecast(kernels, placed.types, around.gpu_kernels)
    if family(placed.observed) == "GPU":
        return [would.reason]
    found = [
        _no_gpu(around),
        PIPELINE if placed.pipeline else None,
        _scope(placed),
        None if would.gpu else would.reason,
        _resource(placed),
        _colocation(placed),
    ]
    return [reason for reason in found if reason is not None] or [_unknown(placed)]


def _no_gpu(around: Surroundings) -> Reason | None:
    if around.gpus:
        return None
    return Reason("no-gpu", "no GPU is visible", around.no_gpu or "TensorFlow lists no GPU")


def _scope(placed: Placed) -> Reason | None:
    if not placed.requested or placed.requested != placed.observed:
        return None
    return Reason("scope", f"{placed.requested} was requested", f"a device scope names {placed.requested}")


def _resource(placed: Placed) -> Reason | None:
    if family(placed.resource_on) != "CPU":
        return None
    where = placed.resource_on
    return Reason("resource", f"its variable or resource is on {where}", f"the handle's device is {where}")


def _colocation(placed: Placed) -> Reason | None:
    if not placed.colocated_with:
        return None
    other = placed.colocated_with
    return Reason("colocation", f"it is colocated with {other}", f"the node's class is loc:@{other}")


PIPELINE = Reason(
    "input-pipeline",
    "the input pipeline runs on the host",
    "the op is part of a function passed to tf.data, which ignores device scopes around the dataset",
)


def _unknown(placed: Placed) -> Reason:
    return Reason(
        "unknown",
        f"TensorFlow chose {placed.observed}",
        "a GPU kernel exists, and no request in the code explains the choice",
    )


def sentence(reasons: Sequence[Reason], would: Forecast) -> str:
    """Return one clause for the log: the first cause and, if there is no GPU, the other causes that apply."""
    first = reasons[0]
    if first.code != "no-gpu" or len(reasons) == 1:
        return first.text
    if would.gpu:
        return f"{first.text}; {reasons[1].text}"
    if would.reason.code == "host-memory":
        return f"{first.text}; even a GPU would not compute it: {would.reason.text}"
    return f"{first.text}; even a GPU would not run it: {would.reason.text}"
