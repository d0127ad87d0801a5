"""Measures a matrix product on an otherwise idle device, and on a device that other processes use heavily."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import Integer, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Unavailable, Workload
from tuilab.workloads.parts.child import Child, Pipe
from tuilab.workloads.parts.device import observed, short
from tuilab.workloads.parts.precision import ITEM_BYTES, precise, precision
from tuilab.workloads.parts.sharing import shared

PROCESS_BYTES = 700_000_000
"""Resident bytes of a process that has imported TensorFlow and run a matrix product."""

FREE = "free"

DECLARATION = Declaration(
    name="contention",
    title="A device shared with others",
    summary="A matrix product, alone and while other processes multiply matrices on the same device.",
    unit="product",
    parameters=(
        LogInteger(
            name="side",
            help="The matrices, including those of the rivals, are side × side.",
            default=1_024,
            low=64,
            high=8_192,
        ),
        Integer(
            name="rivals",
            help="Number of other processes that keep the device busy while the shared arm is timed.",
            default=1,
            low=1,
            high=8,
        ),
        precision("float32", "float16", "float64"),
    ),
    inputs=("resident",),
    variants=(
        Variant("alone", "No other load on the device; the rivals wait."),
        Variant("shared", "The rivals keep the device busy at the same time."),
        Variant(FREE, "Like shared, but without a requested device: TensorFlow chooses.", devices=("GPU",)),
    ),
    axis="side",
    dtype="dtype",
)

_rivals: dict[str, tuple[list[Child], int]] = {}


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: three matrices in each process, plus the memory of the rival processes."""
    side, rivals = int(values["side"]), int(values["rivals"])
    matrices = side * side * (8 + 3 * ITEM_BYTES[str(values["dtype"])])
    return matrices * (1 + rivals) + PROCESS_BYTES * rivals


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count a multiplication and an addition for each of the side³ terms."""
    side, item = int(values["side"]), ITEM_BYTES[arm.dtype]
    return Work(flop=2 * side**3, inputs=item * side**2, outputs=item * side**2, dtype=arm.dtype)


def build(b: Build) -> Case:
    import numpy as np

    x = np.random.default_rng(0).standard_normal((b.integer("side"),) * 2).astype(b.arm.dtype)
    if b.arm.variant == FREE:
        with b.tf.device(b.device):
            held = b.tf.convert_to_tensor(x)
        function = b.compiled(b.tf.matmul)
        free = Case(call=lambda: function(held, held), function=function, arguments=(held, held))
        return _contended(b, precise(b, free))
    case = precise(b, b.tensors(b.tf.matmul, x, x))
    return _contended(b, case) if b.arm.variant == "shared" else case


def _contended(b: Build, case: Case) -> Case:
    settings = {"device": b.arm.device, "side": b.integer("side"), "dtype": b.arm.dtype}
    hold = ExitStack()
    rivals = hold.enter_context(
        shared(_rivals, f"{settings} × {b.integer('rivals')}", lambda: _start(b, settings), _end)
    )
    inner = case.scope

    @contextmanager
    def scope() -> Iterator[Any]:
        for rival in rivals:
            rival.ask({"load": True})
        try:
            with inner() as entered:
                yield entered
        finally:
            for rival in rivals:
                rival.ask({"load": False})

    case.scope, case.close = scope, hold.close
    return case


def _start(b: Build, settings: Mapping[str, Any]) -> list[Child]:
    count = b.integer("rivals")
    rivals = [Child("tuilab.workloads.contention:rival", settings) for _ in range(count)]
    try:
        for index, rival in enumerate(rivals):
            say = partial(b.progress, "starting rivals", index, count, "processes")
            device = rival.answer(say)["device"]
            if device != observed(b.tf, b.device):
                raise Unavailable(f"a rival process got {device}, not {b.arm.device}")
    except BaseException:
        _end(rivals)
        raise
    return rivals


def _end(rivals: list[Child]) -> None:
    for rival in rivals:
        rival.close()


def rival(pipe: Pipe, settings: Mapping[str, Any]) -> None:
    """Multiply matrices while the parent requests load. Runs in a rival process."""
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    with tf.device(f"/{settings['device']}"):
        x = tf.cast(tf.random.normal((settings["side"],) * 2), settings["dtype"])
        product = tf.matmul(x, x)
        pipe.send({"device": short(product.backing_device)})
        loading = False
        while True:
            message = pipe.take(wait=not loading)
            if message is not None:
                loading = bool(message["load"])
                tf.matmul(x, x)
                tf.test.experimental.sync_devices()
                pipe.send({"load": loading})
            if loading:
                tf.matmul(x, x)


WORKLOAD = Workload(DECLARATION, build, memory, work)
