"""What this TensorFlow build's kernel registry says, whether or not the device is there."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tuilab.model.ops import CALLS, NO_WORK
from tuilab.workloads.base import Build

# The placer takes a kernel of device type DEFAULT on any device.
ANY_DEVICE = "DEFAULT"


@cache
def _kernels(op: str) -> tuple[tuple[str, tuple[tuple[str, frozenset[int]], ...]], ...]:
    """(device type, ((attribute, allowed type numbers), …)) of each kernel of `op`."""
    from tensorflow.python.framework import kernels  # no public way to the registry

    return tuple(
        (
            kernel.device_type,
            tuple((c.name, frozenset(c.allowed_values.list.type)) for c in kernel.constraint),
        )
        for kernel in kernels.get_registered_kernels_for_op(op).kernel
    )


def has_gpu_rows() -> bool:
    """Return whether this build's registry knows GPU kernels at all; that of `tensorflow-cpu` does not."""
    return any(kind == "GPU" for kind, _ in _kernels("MatMul"))


def registered(tf: Any, op: str, dtype: str, device: str = "GPU") -> bool:
    """Return whether `device` has a kernel of `op` that takes `dtype` for one of its type attributes."""
    wanted = tf.as_dtype(dtype).as_datatype_enum
    return any(
        kind in (device, ANY_DEVICE) and (not limits or any(wanted in allowed for _, allowed in limits))
        for kind, limits in _kernels(op)
    )


def report(b: Build, op: str, dtype: str, device: str = "GPU") -> None:
    """Tell, as the fact `kernel:<op>:<dtype>:<device>`, whether the kernel is there, where that is known."""
    if device == "GPU" and not has_gpu_rows():
        return
    there = registered(b.tf, op, dtype, device)
    has = "has a" if there else "has no"
    b.fact(
        f"kernel:{op}:{dtype}:{device}",
        there,
        f"TensorFlow {b.tf.__version__} {has} {device} kernel of {op} for {dtype}, by its kernel registry",
    )


def report_host_only(b: Build, what: str, function: Callable[..., Any], *inputs: Any) -> None:
    """Tell, as the fact `host-only-ops`, how many op types of `function` lack a GPU kernel, and which."""
    if not b.observing or not has_gpu_rows():
        return
    nodes = _computing(b.tf, function, *inputs)
    missing = sorted({node.type for node in nodes if not _runs_on(node, "GPU")})
    held = any(_held(b.tf, node) for node in nodes)
    told = f"{what}: a GPU kernel for every op" + ", though those of int32 work in host memory" * held
    if missing:
        told = f"{what}: no GPU kernel for {', '.join(missing)}"
    b.fact("host-only-ops", len(missing), told)


def without_kernel(tf: Any, function: Callable[..., Any], *inputs: Any, device: str = "GPU") -> list[str]:
    """Return the op types that `function` computes with, for which `device` has no kernel of their dtypes."""
    return sorted({node.type for node in _computing(tf, function, *inputs) if not _runs_on(node, device)})


def _computing(tf: Any, function: Callable[..., Any], *inputs: Any) -> list[Any]:
    """The nodes of its graph, and of the functions in it, that compute."""
    graph = tf.function(function).get_concrete_function(*inputs).graph
    return [node for node in _nodes(graph) if node.type not in NO_WORK | CALLS]


def _held(tf: Any, node: Any) -> bool:
    """Whether all that it takes and gives is int32, such as sizes: a GPU's kernels keep that on the host."""
    dtypes = {tensor.dtype for tensor in (*node.inputs, *node.outputs)}
    return dtypes == {tf.int32}


def _nodes(graph: Any) -> Iterator[Any]:
    yield from graph.get_operations()
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None:
            yield from _nodes(inner)


def _runs_on(node: Any, device: str) -> bool:
    attributes = node.node_def.attr
    return any(
        kind in (device, ANY_DEVICE)
        and all(name not in attributes or attributes[name].type in allowed for name, allowed in limits)
        for kind, limits in _kernels(node.type)
    )
