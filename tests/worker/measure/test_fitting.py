"""The largest batch is derived from the measured memory peaks of smaller batches."""

import math

import pytest

from tuilab.worker.measure.fitting import Tried, largest_by_peaks

MIB = 2**20


def test_a_straight_line_is_extended() -> None:
    tried = [Tried(batch, 3 * MIB + 128 * 1024 * batch, MIB + 64 * 1024 * batch) for batch in (32, 128, 512)]
    assert largest_by_peaks(tried, 192 * MIB) == pytest.approx(8 * 189)


def test_copies_of_weights_at_small_batches_do_not_flatten_the_line() -> None:
    """The peaks were measured with a layer of 16 MiB of weights. Its call takes 24 KiB per example, so 6,034
    examples fit.
    """
    tried = [
        Tried(32, 50_333_440, 17_048_576), Tried(128, 50_333_440, 18_866_176), Tried(350, 50_333_440, 19_653_632),
        Tried(1_088, 51_389_440, 33_563_648), Tried(3_431, 117_449_728, 50_340_864),
    ]  # fmt: skip
    assert 5_000 < largest_by_peaks(tried, 192 * MIB) < 6_200


def test_a_chunk_larger_than_its_tensor_does_not_steepen_the_line() -> None:
    """The peaks were measured with a convolution. Its call takes 320 KiB per example."""
    tried = [
        Tried(32, 10_496_512, 2_107_648),
        Tried(128, 41_953_792, 8_399_104),
        Tried(319, 169_880_064, 33_564_928),
    ]
    assert largest_by_peaks(tried, 192 * MIB) == pytest.approx(614, rel=0.01)


def test_calls_that_take_nothing_have_no_largest_batch() -> None:
    assert math.isinf(largest_by_peaks([Tried(8, MIB, MIB), Tried(32, MIB, MIB)], 192 * MIB))
