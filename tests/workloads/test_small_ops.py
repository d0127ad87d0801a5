"""The workloads for chains of ops, matrix products, detours to the host, and copies give the same results as
NumPy, and report correct facts.
"""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.arms import MODES
from tuilab.workloads import elementwise, matmul, memory, pingpong
from tuilab.workloads.base import Unavailable


def chain(variant, ops, x, y):
    for index in range(ops):
        x = x @ y if variant == "matmul" else (x + y if index % 2 or variant == "sums" else x * y)
    return x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variant", ["add-multiply", "matmul", "sums"])
@pytest.mark.parametrize("ops", [1, 7, 2_003])
def test_a_chain_has_all_of_its_ops(make, monkeypatch, mode, variant, ops):
    monkeypatch.setattr(elementwise, "UNROLLED", 100)  # XLA is slow to compile a thousand ops in a row
    made = make("elementwise", variant, mode, side=5, ops=ops, dtype="float64")
    x, y = (t.numpy() for t in made.case.arguments)
    np.testing.assert_allclose(made.call().numpy(), chain(variant, ops, x, y), atol=1e-9)


def test_a_chain_stays_bounded(make):
    for variant in ("add-multiply", "matmul"):
        out = make("elementwise", variant, side=30, ops=3_000).call().numpy()
        assert np.isfinite(out).all() and 1e-3 < np.abs(out).max() < 100


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("dtype", "close"), [("float16", 0.05), ("bfloat16", 0.2), ("float32", 1e-4),
                                              ("float64", 1e-10), ("int32", 0), ("complex64", 1e-4),
                                              ("complex128", 1e-10)])  # fmt: skip
def test_products_equal_those_of_numpy_in_every_dtype(make, mode, dtype, close):
    made = make("matmul", "plain", mode, m=20, k=30, n=10, dtype=dtype)
    left, right = (t.numpy() for t in made.case.arguments)
    wide = np.complex128 if dtype.startswith("complex") else np.float64
    want = left.astype(wide) @ right.astype(wide)
    np.testing.assert_allclose(made.call().numpy().astype(wide), want, atol=close * np.abs(want).max())
    assert made.facts[f"kernel:MatMul:{dtype}:GPU"] is (dtype != "int32")
    assert "relative-error" not in made.facts  # its product would be the process's first one
    made.case.close()
    assert 0 <= made.facts["relative-error"] < 0.02


@pytest.mark.parametrize("mode", ["graph", "xla"])
def test_a_graph_of_a_library_function_binds_only_its_tensors(make, mode):
    """tf.matmul has nine parameters; binding them took most of a short call of its tf.function."""
    function = make("matmul", "plain", mode, m=4, k=4, n=4).case.function
    assert len(inspect.signature(function.python_function).parameters) <= 2


def test_half_precision_is_less_exact_and_reports_it(make):
    errors = []
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        made = make("matmul", "plain", m=64, k=512, n=64, dtype=dtype)
        made.case.close()
        errors.append(made.facts["relative-error"])
    assert errors == sorted(errors) and errors[1] < errors[2] / 10


def test_padding_rounds_up_to_multiples_of_eight_or_is_refused(make):
    assert [matmul.padded(n) for n in (1, 8, 9, 2_047)] == [8, 8, 16, 2_048]
    made = make("matmul", "padded", m=9, k=16, n=1, dtype="float32")
    assert made.call().shape == (16, 8)
    with pytest.raises(Unavailable, match="multiples of 8"):
        make("matmul", "padded", m=8, k=16, n=24)


def test_tf32_is_unavailable_on_a_cpu_and_the_setting_is_restored(make, tf):
    with pytest.raises(Unavailable, match="TF32"):
        make("matmul", "plain", dtype="tf32")
    before = tf.config.experimental.tensor_float_32_execution_enabled()
    made = make("matmul", "plain", m=4, k=4, n=4)
    with made.case.scope():
        assert not tf.config.experimental.tensor_float_32_execution_enabled()
    assert tf.config.experimental.tensor_float_32_execution_enabled() == before


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_detours_change_the_device_and_not_the_result(make, mode):
    values = {"side": 6, "length": 5, "detours": 2, "dtype": "float64"}
    made = {
        v: make("pingpong", v, mode, device="CPU:1", **values) for v in ("straight", "pinned", "host-only")
    }
    x, small, factor = (t.numpy() for t in made["straight"].case.arguments)
    added, handed = x, x
    for index in range(5):
        added = (added + small if index in (0, 2) else added) @ factor
        handed = handed @ factor
    for variant, want in (("straight", added), ("pinned", added), ("host-only", handed)):
        np.testing.assert_allclose(made[variant].call().numpy(), want, atol=1e-12)
    assert made["host-only"].facts == {"kernel:BandedTriangularSolve:float64:GPU": False}


@given(st.integers(1, 256), st.data())
def test_detours_are_spread_over_the_chain(length, data):
    detours = data.draw(st.integers(1, length))
    places = pingpong.positions(length, detours)
    assert len(places) == detours and 0 in places and max(places) < length
    gaps = np.diff([*sorted(places), length])
    assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("direction", ["to device", "to host", "both"])
@pytest.mark.parametrize("device", ["CPU:0", "CPU:1"])
def test_block_and_pieces_carry_the_same_bytes(make, mode, direction, device):
    values = {"bytes": 10_000, "pieces": 7, "direction": direction}
    total = 10_000 // 7 * 7
    for variant, count in (("block", 1), ("pieces", 7)):
        made = make("copies", variant, mode, device=device, **values)
        out = made.call()
        assert [t.shape[0] for t in out] == [total // count] * count
        for source, copy in zip(made.case.arguments, out, strict=True):
            np.testing.assert_array_equal(source.numpy(), copy.numpy())


def test_a_copy_within_the_host_is_a_copy(make):
    made = make("copies", "block", "eager", bytes=2**20)
    here, there = (np.asarray(memoryview(t)) for t in (made.case.arguments[0], made.call()[0]))
    assert not np.shares_memory(here, there)
    np.testing.assert_array_equal(here, there)


@given(st.integers(2**20, 2**30), st.integers(2**20, 2**26))
def test_allocations_add_up_to_the_requested_size(total, step):
    sizes = memory._sizes(total, step)
    assert 0 <= total - 4 * sum(sizes) < 4 and max(sizes) * 4 <= step


def test_an_allocation_has_its_stated_size(make):
    out = make("memory", "free", "eager", bytes=5 * 2**20, step=2 * 2**20, provoke=False).call()
    assert [int(t.shape[0]) * 4 for t in out] == [2 * 2**20, 2 * 2**20, 2**20]
    assert all(np.isfinite(t.numpy()).all() for t in out)


def test_the_error_of_a_refused_allocation_is_reported_unchanged(tf):
    def refuse():
        raise tf.errors.ResourceExhaustedError(None, None, "too large")

    found = memory.attempt(tf, refuse)
    assert found["bases"][:2] == ["ResourceExhaustedError", "OpError"]
    assert (found["caught"], found["usable"]) == (False, True)
    assert memory.attempt(tf, lambda: int("x"))["bases"][0] == "ValueError"

    def interrupted():
        raise NotImplementedError

    assert memory.attempt(tf, interrupted)["caught"]
    assert memory.attempt(tf, lambda: None)["bases"] == []


def test_memory_info_is_queried(make, tf):
    try:
        keys = ", ".join(sorted(tf.config.experimental.get_memory_info("CPU:0")))
    except ValueError:
        keys = ""  # some CPU allocators record no figures
    facts = make("memory", "free", "eager", provoke=False).facts
    assert facts == {"memory-info:keys": keys, "memory-info:takes-device-object": False}
