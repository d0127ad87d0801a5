"""Measures the short-time Fourier transform of a signal, on its own or after a five-tap FIR filter."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from tuilab.model.arithmetic import fourier_flop
from tuilab.model.arms import Arm
from tuilab.model.parameters import AtMost, Boolean, Choice, LogInteger, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Function, Unavailable, Workload
from tuilab.workloads.parts import kernels
from tuilab.workloads.parts.precision import ITEM_BYTES, precision

FIR = (0.1, 0.2, 0.3, 0.2, 0.1)

DECLARATION = Declaration(
    name="stft",
    title="Short-time Fourier transform",
    summary="Frames of a signal, windowed and Fourier-transformed; optionally filtered first.",
    unit="STFT",
    parameters=(
        LogInteger(
            name="samples",
            help="Length of the signal. The work is proportional to the length.",
            default=10_240,
            low=256,
            high=16_777_216,
        ),
        LogInteger(
            name="batch",
            help="Signals transformed in one call.",
            default=1,
            low=1,
            high=1_024,
        ),
        LogInteger(
            name="frame_length",
            help="Samples in a frame. Longer frames resolve frequencies more finely.",
            default=512,
            low=16,
            high=65_536,
        ),
        LogInteger(
            name="frame_step",
            help="Samples from one frame to the next. At half the frame length, frames overlap by half.",
            default=256,
            low=8,
            high=65_536,
        ),
        LogInteger(
            name="fft_length",
            label="FFT length",
            help="Points of the transform; frames are zero-padded to this length.",
            default=512,
            low=16,
            high=65_536,
        ),
        Choice(
            name="window",
            help="Weights applied to each frame.",
            default="hann",
            options=("hann", "hamming", "kaiser", "kaiser-bessel derived", "vorbis", "none"),
        ),
        Boolean(
            name="pad_end",
            help="Pad the signal with zeros so that its last samples get whole frames.",
            default=False,
        ),
        Boolean(
            name="filter",
            label="filter first",
            help="Run a five-tap FIR filter over the signal before the STFT.",
            default=False,
        ),
        Boolean(
            name="pinned",
            label="pin to the device",
            help=(
                "Request the arm's device. If off, TensorFlow chooses; an arm whose work runs on a different "
                "device gets no figure."
            ),
            default=True,
        ),
        precision("float32", "float64", help="Precision. The STFT takes float32 or float64 only."),
    ),
    constraints=(
        AtMost("frame_length", "samples", "a frame must not be longer than the signal"),
        AtMost("frame_step", "samples", "the step must not be longer than the signal"),
        AtMost("frame_length", "fft_length", "the FFT must cover the whole frame"),
    ),
    variants=(
        Variant("whole", "All of the work on the arm's device."),
        Variant(
            "split",
            "The filter on the CPU, the STFT on the GPU.",
            devices=("GPU",),
            modes=("eager", "graph"),
            needs="filter",
        ),
    ),
    axis="samples",
    dtype="dtype",
)


def frames(values: Mapping[str, Value]) -> int:
    samples, length, step = (int(values[name]) for name in ("samples", "frame_length", "frame_step"))
    if values["pad_end"]:
        return -(-samples // step)
    return max(0, 1 + (samples - length) // step)


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes: the signal, its frames, the copies of both, and the complex spectrum."""
    item = ITEM_BYTES[str(values["dtype"])]
    batch, samples, fft = (int(values[name]) for name in ("batch", "samples", "fft_length"))
    framed = frames(values) * int(values["frame_length"])
    spectrum = frames(values) * (fft // 2 + 1) * 2
    return batch * item * (3 * samples + 4 * framed + frames(values) * fft + spectrum)


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """Count 2.5 N log₂ N operations per frame of N real points by convention (benchFFT), plus the operations
    of the window, and two operations per sample and coefficient of the filter. The best known algorithm for a
    real transform needs 17/9 N log₂ N (Johnson and Frigo 2007).
    """
    batch, samples, n = (int(values[name]) for name in ("batch", "samples", "fft_length"))
    length, item, many = int(values["frame_length"]), ITEM_BYTES[arm.dtype], batch * frames(values)
    weighed = many * length if values["window"] != "none" else 0
    filtered = 2 * len(FIR) * batch * samples if values["filter"] else 0
    # cuDNN may multiply the filter's float32 values as TF32.
    dtype = "tf32" if filtered and arm.dtype == "float32" else arm.dtype
    read = batch * min(samples, frames(values) * length)
    return Work(
        flop=many * fourier_flop(n, real=True) + weighed + filtered,
        least_flop=many * max(0.0, 17 / 9 * n * math.log2(n) - 6 * n) + weighed,
        inputs=item * read,
        outputs=item * many * (n // 2 + 1) * 2,
        dtype=dtype,
        note="2.5 N log₂ N for each frame of N points, by convention",
    )


def build(b: Build) -> Case:
    import numpy as np

    tf = b.tf
    filtering, split = b.flag("filter"), b.arm.variant == "split"
    if split and not filtering:
        raise Unavailable("there is nothing to split, because the filter is off")
    if split and b.arm.mode == "xla":
        raise Unavailable("XLA compiles for one device, so one XLA call cannot be split over two")
    if b.arm.dtype not in ("float32", "float64"):
        raise Unavailable(f"the STFT takes float32 or float64, not {b.arm.dtype}")
    window = windows(tf)[b.word("window")]
    with tf.device(b.host if split else b.device):
        taps = tf.constant(FIR, dtype=b.arm.dtype)

    def filtered(signal: Any) -> Any:
        return tf.nn.conv1d(signal[..., tf.newaxis], taps[:, tf.newaxis, tf.newaxis], 1, "SAME")[..., 0]

    def transform(signal: Any) -> Any:
        if split:
            with tf.device(b.host):
                signal = filtered(signal)
        elif filtering:
            signal = filtered(signal)
        return tf.signal.stft(
            signal,
            frame_length=b.integer("frame_length"),
            frame_step=b.integer("frame_step"),
            fft_length=b.integer("fft_length"),
            window_fn=window,
            pad_end=b.flag("pad_end"),
        )

    shape = (b.integer("batch"), b.integer("samples"))
    if b.observing:
        _report(b, transform, shape)
    signal = np.random.default_rng(0).standard_normal(shape).astype(b.arm.dtype)
    if b.flag("pinned"):
        return b.tensors(transform, signal)
    return _unpinned(b, transform, signal)


def windows(tf: Any) -> dict[str, Function | None]:
    signal = tf.signal
    return {
        "hann": signal.hann_window,
        "hamming": signal.hamming_window,
        # These two window functions have a shape parameter before their dtype.
        "kaiser": lambda length, dtype: signal.kaiser_window(length, dtype=dtype),
        "kaiser-bessel derived": lambda length, dtype: signal.kaiser_bessel_derived_window(
            length, dtype=dtype
        ),
        "vorbis": signal.vorbis_window,
        "none": None,
    }


def _unpinned(b: Build, transform: Function, signal: Any) -> Case:
    with b.tf.device(b.host):
        source = b.tf.convert_to_tensor(signal)
    function = b.compiled(transform)
    return Case(call=lambda: function(source), function=function, arguments=(source,))


def _report(b: Build, transform: Function, shape: tuple[int, int]) -> None:
    spec = b.tf.TensorSpec(shape, b.arm.dtype)
    kernels.report_host_only(b, "this transform", transform, spec)
    if not b.flag("pinned"):
        _report_windows(b)
    if b.flag("filter"):
        kernels.report_name(b, "tf.signal.lfilter", hasattr(b.tf.signal, "lfilter"))


def _report_windows(b: Build) -> None:
    if not kernels.has_gpu_rows():
        return
    spec, lacking = b.tf.TensorSpec((1, 1_024), b.arm.dtype), []
    found = windows(b.tf)
    for name, window in found.items():
        for pad_end in (False, True):
            transform = partial(
                b.tf.signal.stft, frame_length=256, frame_step=128, window_fn=window, pad_end=pad_end
            )
            if kernels.without_kernel(b.tf, transform, spec):
                lacking.append(f"{name}{', padded' if pad_end else ''}")
    whole = f"of {len(found)} windows, with and without end padding,"
    text = f"all {len(found)} windows, with and without end padding, use only ops that have a GPU kernel"
    if lacking:
        text = f"{whole} these need an op without a GPU kernel: {', '.join(lacking)}"
    b.fact("host-only-windows", len(lacking), text)


WORKLOAD = Workload(DECLARATION, build, memory, work)
