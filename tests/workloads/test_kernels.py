"""The kernel registry, compared with TensorFlow's own behavior on this host."""

import pytest

from tuilab.model.events import Fact
from tuilab.workloads.parts import kernels


@pytest.mark.parametrize(
    ("op", "dtype", "there"),
    [
        ("MatMul", "float64", True),
        ("MatMul", "int32", False),
        ("RFFT", "float32", True),  # the op has no constraint, so any dtype matches
        ("DecodeCompressed", "string", False),
        ("BandedTriangularSolve", "float32", False),
        ("NoSuchOp", "float32", False),
    ],
)
def test_kernels_of_a_gpu_are_known_without_one(tf, op, dtype, there):
    assert kernels.registered(tf, op, dtype, "GPU") is there


@pytest.mark.parametrize(("dtype", "there"), [("float32", True), ("string", False)])
def test_the_registry_lists_cpu_kernels(tf, dtype, there):
    assert kernels.registered(tf, "MatMul", dtype, "CPU") is there
    x = tf.constant([["1"]]) if dtype == "string" else tf.constant([[1.0]])
    if there:
        assert tf.raw_ops.MatMul(a=x, b=x).dtype == dtype
    else:
        with pytest.raises((tf.errors.NotFoundError, tf.errors.InvalidArgumentError, TypeError)):
            tf.raw_ops.MatMul(a=x, b=x)


def test_ops_without_a_kernel_are_found_in_functions_and_what_they_call(tf):
    @tf.function
    def inner(x):
        return tf.raw_ops.BandedTriangularSolve(matrix=tf.ones((1, 3)), rhs=x)

    spec = tf.TensorSpec((3, 3), tf.float32)
    assert kernels.without_kernel(tf, lambda x: tf.nn.relu(x @ x), spec) == []
    assert kernels.without_kernel(tf, lambda x: inner(x) + 1, spec) == ["BandedTriangularSolve"]
    ints = tf.TensorSpec((3, 3), tf.int32)
    assert kernels.without_kernel(tf, lambda x: x @ x, ints) == ["MatMul"]


def test_the_facts_of_a_transform_agree_with_its_placement(make):
    """Every op has a GPU kernel, but the ops that compute sizes still do not run on a GPU."""
    facts = [event for event in make("stft", "whole", samples=512).ears.events if isinstance(event, Fact)]
    (told,) = (fact.text for fact in facts if fact.name == "host-only-ops")
    assert told.endswith("a GPU kernel for every op, but int32 kernels work in host memory")


def test_a_build_without_gpu_kernels_says_nothing_about_gpus(make, monkeypatch):
    monkeypatch.setattr(kernels, "has_gpu_rows", lambda: False)
    assert not make("matmul", "plain", m=4, k=4, n=4).facts
    assert "host-only-ops" not in make("stft", "whole", samples=512).facts
