"""Measures compression: zlib on the host, including copies to and from the device, and a lossy codec on the
device.
"""

import importlib.util
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import Choice, Integer, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Mark, Unavailable, Workload
from tuilab.workloads.parts import kernels, quantise
from tuilab.workloads.parts.device import move_to, observed, observed_family, resident

ITEM = 4
PERIOD = 1_000
"""Number of values per period of the smooth data."""

DECLARATION = Declaration(
    name="compression",
    title="Compression on host and device",
    summary="float32 values on the device, compressed by zlib on the host or by ops on the device.",
    unit="compression",
    parameters=(
        LogInteger(
            name="elements",
            help="float32 values, 4 bytes each; rounded up to whole blocks.",
            default=1_000_000,
            low=1_024,
            high=268_435_456,
            binary=False,
        ),
        Choice(
            name="data",
            help="uniform: random values from 0 to 1, which zlib hardly compresses; smooth: a slow wave "
            "rounded to 1/1,024; sparse: one value in twenty is not zero.",
            default="uniform",
            options=("uniform", "smooth", "sparse"),
        ),
        Integer(
            name="level",
            label="zlib level",
            help="1 is fastest, 9 compresses most.",
            default=6,
            low=1,
            high=9,
        ),
        Choice(
            name="bits",
            help="Bits per value in the lossy variants.",
            default="8",
            options=("8", "4", "2"),
        ),
        LogInteger(
            name="block",
            help="Values per block, which share a minimum and a step in the lossy variants.",
            default=64,
            low=16,
            high=4_096,
        ),
    ),
    inputs=("resident",),
    variants=(
        Variant(
            "zlib",
            "Lossless: copied to the host, compressed with zlib, and copied back.",
            modes=("eager",),
            does="compressing",
        ),
        Variant(
            "decode",
            "Lossless: zlib data inflated by tf.io.decode_compressed on the host, copied to the device.",
            modes=("eager", "graph"),
            does="decompressing",
        ),
        Variant(
            "quantise",
            "Lossy: block quantization and bit packing by ops on the device.",
            does="compressing",
        ),
        Variant("dequantise", "Lossy: unpacking by ops on the device.", does="decompressing"),
    ),
    axis="elements",
)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: the values and their tensor, zlib's output, the codes, and the decoded floats."""
    return 4 * ITEM * int(values["elements"])


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count the work of the lossy variants: for compression, five operations per value (minimum, maximum,
    difference, quotient, rounding); for decompression, a multiply-add per value.

    The work and output size of zlib depend on the data.
    """
    block, bits = int(values["block"]), int(str(values["bits"]))
    count = -(-int(values["elements"]) // block) * block
    whole, packed = ITEM * count, count * bits / 8 + count / block * quantise.SIDE_BYTES
    if arm.variant == "quantise":
        return Work(flop=5 * count, inputs=whole, outputs=packed)
    if arm.variant == "dequantise":
        return Work(flop=2 * count, inputs=packed, outputs=whole)
    if arm.variant == "zlib":
        return Work(inputs=whole, to_host=whole, host_only=True)
    return Work(outputs=whole, to_device=whole, host_only=True)


def build(b: Build) -> Case:
    values = _values(b)
    make: Callable[[Build, Any], Case] = {
        "zlib": _zlib,
        "decode": _decode,
        "quantise": _quantised,
        "dequantise": _dequantised,
    }[b.arm.variant]
    case = make(b, values)
    case.device = observed(b.tf, b.device)
    return case


def _values(b: Build) -> Any:
    """Return the data, shaped (blocks, block)."""
    import numpy as np

    block = b.integer("block")
    count = -(-b.integer("elements") // block) * block
    rng = np.random.default_rng(0)
    data = b.word("data")
    if data == "uniform":
        values = rng.random(count, dtype=np.float32)
    elif data == "smooth":
        wave = np.sin(np.arange(count, dtype=np.float32) * np.float32(2 * np.pi / PERIOD))
        # Rounding to 1/1024 leaves the low bits zero, as in measured data.
        values = np.round(wave * 1_024) / np.float32(1_024)
    else:
        values = rng.random(count, dtype=np.float32)
        values[rng.random(count, dtype=np.float32) > 0.05] = 0
    return values.reshape(-1, block)


def _zlib(b: Build, values: Any) -> Case:
    import numpy as np

    if b.arm.mode != "eager":
        raise Unavailable("zlib is a library call on the host, not a graph op")
    level, held = b.integer("level"), resident(b.tf, values, b.device)

    def to_host() -> Any:
        # `held.numpy()` cannot be used, because the runtime caches that copy and would return it in the
        # next call.
        return np.ascontiguousarray(move_to(b.tf, held, b.host).numpy())

    def to_device(data: bytes) -> Any:
        return resident(b.tf, np.frombuffer(data, np.uint8), b.device)

    def call() -> Any:
        return to_device(zlib.compress(to_host(), level))

    packed = len(zlib.compress(values, level))
    _report(b, values.nbytes, packed, 0.0, 0.0)
    _report_apis(b)

    def marked(mark: Mark) -> Any:
        with mark("copy_out"):
            array = to_host()
        with mark("compress"):
            data = zlib.compress(array, level)
        with mark("copy_in"):
            return to_device(data)

    return Case(
        call=call,
        scope=lambda: b.tf.device(b.device),
        marked=marked,
    )


def _decode(b: Build, values: Any) -> Case:
    tf = b.tf
    data = zlib.compress(values, b.integer("level"))
    with tf.device(b.host):
        blob = tf.constant(data)

    def inflate(compressed: Any) -> Any:
        with tf.device(b.host):
            return tf.io.decode_raw(tf.io.decode_compressed(compressed, "ZLIB"), tf.float32)

    def copy_in(inflated: Any) -> Any:
        with tf.device(b.device):
            return tf.identity(inflated)

    whole = b.compiled(lambda compressed: copy_in(inflate(compressed)))
    _report(b, values.nbytes, len(data), 0.0, 0.0)
    _report_apis(b)
    return Case(
        call=lambda: whole(blob),
        function=whole,
        arguments=(blob,),
    )


def _quantised(b: Build, values: Any) -> Case:
    tf, bits = b.tf, int(b.word("bits"))
    _report_loss(b, values, bits)
    return b.tensors(lambda blocks: quantise.quantise(tf, blocks, bits), values)


def _dequantised(b: Build, values: Any) -> Case:
    tf, bits = b.tf, int(b.word("bits"))
    with tf.device(b.host):
        parts = [part.numpy() for part in quantise.quantise(tf, tf.constant(values), bits)]
    _report_loss(b, values, bits)
    return b.tensors(lambda codes, low, step: quantise.dequantise(tf, codes, low, step, bits), *parts)


def _report(b: Build, bytes_in: int, bytes_out: int, largest: float, rms: float) -> None:
    ratio, lossless = bytes_in / bytes_out, largest == 0.0
    kind = "lossless" if lossless else "lossy"
    b.fact(
        "ratio", ratio, f"{b.arm.variant}: {bytes_in:,} bytes became {bytes_out:,}, {ratio:.2f} to 1, {kind}"
    )
    b.fact("lossless", lossless, f"{b.arm.variant} is {kind}")
    b.fact("max-error", largest, f"{b.arm.variant}: the largest error of a value is {largest:.2g}")
    b.fact("rms-error", rms, f"{b.arm.variant}: the root mean squared error is {rms:.2g}")


def _report_loss(b: Build, values: Any, bits: int) -> None:
    if not b.observing:
        return
    import numpy as np

    tf, some = b.tf, values[: max(1, 2**20 // values.shape[1])]
    with tf.device(b.host):
        parts = quantise.quantise(tf, tf.constant(some), bits)
        back = quantise.dequantise(tf, *parts, bits).numpy()
    error = np.abs(back.astype(np.float64) - some)
    ratio = quantise.ratio(values.shape[1], bits)
    rms = float(np.sqrt(np.mean(error**2)))
    _report(b, values.nbytes, round(values.nbytes / ratio), float(error.max()), rms)
    spec = tf.TensorSpec((1, values.shape[1]), tf.float32)
    kernels.report_host_only(b, "the lossy codec", lambda x: quantise.quantise(tf, x, bits), spec)


def _report_apis(b: Build) -> None:
    kernels.report(b, "DecodeCompressed", "string")
    place = observed_family(b.tf.constant([0.5, 1.5]))
    b.fact("constant-device", place, f"without a requested device, tf.constant puts floats on the {place}")
    kernels.report_name(b, "tf.io.compress", hasattr(b.tf.io, "compress"))
    module = "tensorflow.python.ops.gen_custom_ops"
    kernels.report_name(b, module, importlib.util.find_spec(module) is not None, "module ")


WORKLOAD = Workload(DECLARATION, build, memory, work)
