import numpy as np
import pytest

from tuilab.model.arms import MODES
from tuilab.workloads.base import Unavailable
from tuilab.workloads.stft import FIR

VALUES = {"samples": 1_000, "frame_length": 128, "frame_step": 48, "fft_length": 256, "dtype": "float64"}


def expected(batch=1, window="hann", pad_end=False, filter=False):
    signal = np.random.default_rng(0).standard_normal((batch, VALUES["samples"]))
    if filter:
        padded = np.pad(signal, ((0, 0), (2, 2)))
        count = VALUES["samples"]
        signal = sum(tap * padded[:, i : i + count] for i, tap in enumerate(FIR))
    length, step, points = (VALUES[name] for name in ("frame_length", "frame_step", "fft_length"))
    turn = 2 * np.pi * np.arange(length) / length
    weights = {"hann": 0.5 - 0.5 * np.cos(turn), "hamming": 0.54 - 0.46 * np.cos(turn), "none": 1.0}[window]
    frames = -(-VALUES["samples"] // step) if pad_end else 1 + (VALUES["samples"] - length) // step
    signal = np.pad(signal, ((0, 0), (0, length)))
    stack = np.stack([signal[:, i * step : i * step + length] for i in range(frames)], 1)
    return np.fft.rfft(stack * weights, points)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "change",
    [
        {},
        {"batch": 3, "window": "hamming"},
        {"pad_end": True, "window": "none"},
        {"filter": True},
        {"pinned": False},
    ],
)
def test_every_mode_agrees_with_numpy(make, mode, change):
    got = make("stft", "whole", mode, **VALUES, **change).call()
    change = {name: value for name, value in change.items() if name != "pinned"}
    np.testing.assert_allclose(got.numpy(), expected(**change), atol=1e-9)


def test_the_split_variant_filters_on_the_host_with_equal_results(make):
    values = VALUES | {"filter": True}
    split = make("stft", "split", "graph", device="CPU:1", **values).call()
    np.testing.assert_allclose(split.numpy(), expected(filter=True), atol=1e-9)
    for wrong in ({"filter": False}, {"mode": "xla"}):
        with pytest.raises(Unavailable):
            make("stft", "split", **{**values, "device": "CPU:1", **wrong})


def test_facts_say_that_every_op_has_a_gpu_kernel_and_lfilter_is_missing(make):
    facts = make("stft", "whole", "eager", **VALUES, filter=True, window="hamming", pad_end=True).facts
    assert facts == {"host-only-ops": 0, "exists:tf.signal.lfilter": False}
