"""Compression is the inverse of decompression, within the stated error."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.workloads.conftest import marks
from tuilab.model.arms import MODES
from tuilab.workloads import compression
from tuilab.workloads.parts import quantise

SMALL = {"elements": 5_000, "block": 64}
ROUNDED_UP = 5_056


@pytest.mark.parametrize("bits", [8, 4, 2])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_packing_is_lossless(tf, bits, data):
    shape = (data.draw(st.integers(1, 4)), 8 * data.draw(st.integers(1, 4)))
    codes = data.draw(arrays(np.uint8, shape, elements=st.integers(0, 2**bits - 1)))
    packed = quantise.pack(tf, tf.constant(codes), bits)
    assert packed.shape == (shape[0], shape[1] * bits // 8)
    np.testing.assert_array_equal(quantise.unpack(tf, packed, bits).numpy(), codes)


@pytest.mark.parametrize("bits", [8, 4, 2])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_quantization_error_is_at_most_half_a_step(tf, bits, data):
    floats = st.floats(-1e6, 1e6, width=32)
    blocks = data.draw(arrays(np.float32, (3, 16), elements=floats))
    codes, low, step = quantise.quantise(tf, tf.constant(blocks), bits)
    back = quantise.dequantise(tf, codes, low, step, bits).numpy()
    rounding = 4 * np.spacing(np.abs(blocks).max(1, keepdims=True)) + 256 * np.finfo(np.float32).tiny
    assert (np.abs(back - blocks) <= step.numpy() / 2 + rounding).all()


@pytest.mark.parametrize("bits", [8, 4, 2])
def test_a_block_with_denormal_steps_is_restored_as_its_smallest_value(tf, bits):
    tiny = np.finfo(np.float32).tiny
    spread = np.linspace(0, 0.99 * (2**bits - 1) * tiny, 16, dtype=np.float32)
    blocks = np.stack([spread, spread - 100 * tiny, np.linspace(0, tiny, 16, dtype=np.float32)])
    codes, low, step = quantise.quantise(tf, tf.constant(blocks), bits)
    assert not codes.numpy().any() and not step.numpy().any()
    back = quantise.dequantise(tf, codes, low, step, bits).numpy()
    np.testing.assert_array_equal(back, np.broadcast_to(blocks.min(1, keepdims=True), back.shape))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bits", ["8", "4", "2"])
def test_all_modes_quantise_equally(make, mode, bits):
    codes, low, step = make("compression", "quantise", mode, **SMALL, bits=bits).call()
    back = make("compression", "dequantise", mode, **SMALL, bits=bits)
    values = np.random.default_rng(0).random(ROUNDED_UP, dtype=np.float32).reshape(-1, 64)
    assert np.abs(back.call().numpy() - values).max() == pytest.approx(back.facts["max-error"], rel=1e-3)
    assert np.abs(back.call().numpy() - values).max() <= step.numpy().max() * 0.501
    sent = codes.numpy().nbytes + low.numpy().nbytes + step.numpy().nbytes
    assert back.facts["ratio"] == pytest.approx(4 * ROUNDED_UP / sent, rel=1e-3)
    assert back.facts["host-only-ops"] == 0 and back.facts["lossless"] is False


@pytest.mark.parametrize("data", ["uniform", "smooth", "sparse"])
def test_zlib_and_back_is_exact(make, data):
    packed = make("compression", "zlib", "eager", **SMALL, data=data)
    written = packed.call().numpy().tobytes()
    values = np.frombuffer(zlib.decompress(written), np.float32)
    assert values.size == ROUNDED_UP
    assert packed.facts["ratio"] == pytest.approx(values.nbytes / len(written))
    for mode in ("eager", "graph"):
        unpacked = make("compression", "decode", mode, **SMALL, data=data)
        np.testing.assert_array_equal(unpacked.call().numpy(), values)
        assert unpacked.facts["kernel:DecodeCompressed:string:GPU"] is False
        assert unpacked.facts["lossless"] is True


def test_kinds_of_data_differ_in_their_zlib_ratio(make):
    ratios = [
        make("compression", "zlib", "eager", elements=100_000, data=d).facts["ratio"]
        for d in ("uniform", "sparse", "smooth")
    ]
    assert ratios == sorted(ratios) and ratios[0] < 1.5 < ratios[1]


def test_the_phases_of_compression_are_its_steps(make):
    made = make("compression", "zlib", "eager", **SMALL)
    assert list(marks(made.case)) == ["copy_out", "compress", "copy_in"]


def test_functions_of_the_faulty_example_do_not_exist(make):
    facts = make("compression", "zlib", "eager", **SMALL).facts
    assert facts["exists:tf.io.compress"] is False
    assert facts["exists:tensorflow.python.ops.gen_custom_ops"] is False


def test_elements_reach_the_400_megabytes_of_the_document():
    elements = compression.DECLARATION.parameter("elements")
    assert elements.low <= 100_000_000 <= elements.high
