"""Measures device memory: the cost of allocating, the error when memory runs out, and whether TensorFlow
still works afterwards.
"""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from typing import Any

from tuilab.model.arms import Arm, family
from tuilab.model.parameters import AtMost, Boolean, LogInteger, Value
from tuilab.model.quantity import size
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts.child import Child, Pipe
from tuilab.workloads.parts.device import observed, short
from tuilab.workloads.parts.sharing import shared

MORE_THAN_ANY_HOST = 2**44
"""16 TiB, more than any host has. The allocator refuses the request without touching any memory."""
POLL_S = 0.2

DECLARATION = Declaration(
    name="memory",
    title="Allocating on a device",
    summary="Allocates and fills tensors of the requested total size; on a GPU, also under a memory limit.",
    unit="allocation",
    parameters=(
        LogInteger(
            name="bytes",
            help="Total bytes that one call allocates and fills.",
            unit="B",
            default=256 * 2**20,
            low=2**20,
            high=64 * 2**30,
        ),
        LogInteger(
            name="step",
            help="Bytes of one tensor.",
            unit="B",
            default=64 * 2**20,
            low=2**20,
            high=16 * 2**30,
        ),
        LogInteger(
            name="limit",
            help="Memory limit for TensorFlow on the GPU (variant limited). A CPU has no such limit.",
            unit="B",
            default=2**30,
            low=64 * 2**20,
            high=64 * 2**30,
        ),
        Boolean(
            name="provoke",
            label="provoke an error",
            help=(
                "Before timing, request more memory than exists and report the error. The allocator "
                "gives up after ten seconds."
            ),
            default=True,
        ),
    ),
    constraints=(AtMost("step", "bytes", "a single tensor must not exceed the total"),),
    modes=("eager",),
    inputs=("resident",),
    variants=(
        Variant("free", "Uses all of the device's memory."),
        Variant("limited", "In a separate process with limited GPU memory.", devices=("GPU",)),
    ),
    axis="bytes",
)

_limited: dict[str, tuple[Child, int]] = {}


def memory(values: Mapping[str, Value]) -> int:
    return int(values["bytes"])


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    total = sum(4 * count for count in _sizes(int(values["bytes"]), int(values["step"])))
    return Work(
        flop=0, inputs=0, outputs=min(total, int(values["limit"])) if arm.variant == "limited" else total
    )


def build(b: Build) -> Case:
    if b.arm.variant == "limited":
        return _under_limit(b)
    tf, device = b.tf, b.device
    sizes = _sizes(b.integer("bytes"), b.integer("step"))

    def allocate() -> Any:
        with tf.device(device):
            return [tf.random.normal((count,)) for count in sizes]

    if b.flag("provoke") and family(b.arm.device) == "CPU":
        _report_refusal(b)
    _report_memory_info(b)
    return Case(call=allocate, device=observed(tf, device))


def _sizes(total: int, step: int) -> list[int]:
    """Return the lengths of float32 tensors of at most `step` bytes each that add up to `total` bytes."""
    whole, rest = divmod(total // 4, step // 4)
    return [step // 4] * whole + ([rest] if rest else [])


def _report_refusal(b: Build) -> None:
    """Request more CPU memory than exists. Report the error, and whether TensorFlow still works
    afterwards.
    """
    waiting = threading.Thread(target=_refusal, args=(b.tf,), daemon=True)
    waiting.start()
    while waiting.is_alive():
        # The allocator retries for ten seconds before it gives up.
        waiting.join(POLL_S)
        b.progress("waiting for TensorFlow to refuse an impossible allocation")
    _tell(b, _refusal(b.tf), size(MORE_THAN_ANY_HOST))


@cache
def _refusal(tf: Any) -> dict[str, Any]:
    with tf.device("/CPU:0"):
        return attempt(tf, lambda: tf.zeros((MORE_THAN_ANY_HOST,), tf.uint8))


def attempt(tf: Any, allocate: Any) -> dict[str, Any]:
    """Return an oversized allocation's error, whether `except RuntimeError` catches it, and whether the
    device still works.
    """
    raised: Exception | None = None
    caught = False
    try:
        try:
            allocate()
        except RuntimeError as error:
            raised, caught = error, True
    except Exception as error:
        raised = error
    bases = [kind.__name__ for kind in type(raised).__mro__[:-1]] if raised else []
    try:
        usable = float(tf.reduce_sum(tf.matmul(tf.ones((8, 8)), tf.ones((8, 8))))) == 512.0
    except Exception:
        usable = False
    return {"bases": bases, "caught": caught, "usable": usable}


def _tell(b: Build, found: Mapping[str, Any], asked: str) -> None:
    bases, caught, usable = found["bases"], found["caught"], found["usable"]
    name = bases[0] if bases else ""
    if not name:
        b.fact("oom:error", "", f"{b.arm.device}: allocating {asked} raised no error")
        return
    b.fact("oom:error", name, f"{b.arm.device}: allocating {asked} raised {' → '.join(bases)}")
    does = "catches" if caught else "does not catch"
    b.fact("oom:is-runtime-error", caught, f"`except RuntimeError` {does} {name}, tried on {b.arm.device}")
    right = "gave the right result" if usable else "failed"
    b.fact("oom:usable-after", usable, f"after {name} an 8 × 8 product on {b.arm.device} {right}")


def _report_memory_info(b: Build) -> None:
    ask = b.tf.config.experimental.get_memory_info
    kind = family(b.arm.device)
    try:
        keys = ", ".join(sorted(ask(b.arm.device)))
        b.fact("memory-info:keys", keys, f"get_memory_info('{b.arm.device}') returns {keys}")
    except Exception as error:
        b.fact("memory-info:keys", "", f"get_memory_info('{b.arm.device}') raises {type(error).__name__}")
    try:
        ask(b.tf.config.get_visible_devices(kind)[0])
        b.fact("memory-info:takes-device-object", True, "get_memory_info takes a device object")
    except Exception as error:
        text = f"get_memory_info given a {kind} device object raises {type(error).__name__}"
        b.fact("memory-info:takes-device-object", False, text)


def _under_limit(b: Build) -> Case:
    limit, step = b.integer("limit"), b.integer("step")
    settings = {"device": b.arm.device, "limit": limit, "step": step}
    hold = ExitStack()
    child = hold.enter_context(shared(_limited, str(settings), lambda: _start(b, settings), Child.close))
    try:
        grown = child.ask({"do": "grow"}, lambda: b.progress("filling device memory up to the limit"))
        fits = min(b.integer("bytes"), int(grown["reached"]))
        _tell(b, grown, f"tensors of {size(step)} under a limit of {size(limit)}")
        text = f"{size(grown['reached'])} fitted within a limit of {size(limit)}, in steps of {size(step)}"
        b.fact("oom:reached", int(grown["reached"]), text)
        if grown["fell"]:
            b.fact("oom:fell-back", True, f"under a limit of {size(limit)} some tensors went to the host")
        elif grown["bases"]:  # otherwise, the device ignored the limit, and its memory was never full
            went = f"no tensor went to the host: TensorFlow raised {grown['bases'][0]} instead"
            b.fact("oom:fell-back", False, f"under a limit of {size(limit)} {went}")
    except BaseException:
        hold.close()
        raise
    return Case(
        call=lambda: child.ask({"do": "allocate", "bytes": fits}),
        device=str(grown["device"]),
        close=hold.close,
    )


def _start(b: Build, settings: Mapping[str, Any]) -> Child:
    child = Child("tuilab.workloads.memory:limited", settings)
    try:
        child.answer(lambda: b.progress("starting a process with a memory limit"))
    except BaseException:
        child.close()
        raise
    return child


def limited(pipe: Pipe, settings: Mapping[str, Any]) -> None:
    """On each request of the parent, fill the memory up to the limit or allocate a given amount.

    Runs in the limited process.
    """
    import tensorflow as tf

    index = int(settings["device"].partition(":")[2])
    gpus = tf.config.list_physical_devices("GPU")
    tf.config.set_visible_devices(gpus[index : index + 1], "GPU")
    limit = tf.config.LogicalDeviceConfiguration(memory_limit=settings["limit"] // 2**20)
    for gpu in gpus[index : index + 1]:
        tf.config.set_logical_device_configuration(gpu, [limit])
    count = settings["step"] // 4
    pipe.send({"device": observed(tf, "/GPU:0")})
    with tf.device("/GPU:0"):
        while True:
            message = pipe.take()
            assert message is not None
            if message["do"] == "grow":
                pipe.send(_grow(tf, count, settings))
            else:
                made = [tf.fill((n,), 1.0) for n in _sizes(message["bytes"], settings["step"])]
                tf.test.experimental.sync_devices()
                del made
                pipe.send({})


def _grow(tf: Any, count: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    held: list[Any] = []

    def fill() -> None:
        while len(held) * count * 4 <= 2 * settings["limit"]:
            held.append(tf.fill((count,), 1.0))

    found = attempt(tf, fill)
    # The process sees a single GPU, under the name GPU:0.
    device = short(held[0].backing_device) if held else observed(tf, "/GPU:0")
    fell = any(family(short(tensor.backing_device)) == "CPU" for tensor in held)
    found |= {"reached": len(held) * count * 4, "fell": fell}
    return found | {"device": settings["device"] if device == "GPU:0" else device}


WORKLOAD = Workload(DECLARATION, build, memory, work)
