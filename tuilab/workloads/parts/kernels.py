"""Reads this build's kernel registry, which lists kernels even for devices that are not present."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tuilab.model.ops import CALLS, NO_WORK
from tuilab.workloads.base import Build

# The placer accepts a kernel of device type DEFAULT on any device.
ANY_DEVICE = "DEFAULT"


@cache
def _kernels(op: str) -> tuple[tuple[str, tuple[tuple[str, frozenset[int]], ...]], ...]:
    """Return (device type, ((attribute, allowed type numbers), …)) for each kernel of `op`."""
    from tensorflow.python.framework import kernels  # the registry has no public API

    return tuple(
        (
            kernel.device_type,
            tuple((c.name, frozenset(c.allowed_values.list.type)) for c in kernel.constraint),
        )
        for kernel in kernels.get_registered_kernels_for_op(op).kernel
    )


def has_gpu_rows() -> bool:
    return any(kind == "GPU" for kind, _ in _kernels("MatMul"))


def registered(tf: Any, op: str, dtype: str, device: str = "GPU") -> bool:
    """Return True if `device` has a kernel of `op` that accepts `dtype` for one of its type attributes."""
    wanted = tf.as_dtype(dtype).as_datatype_enum
    return any(
        kind in (device, ANY_DEVICE) and (not limits or any(wanted in allowed for _, allowed in limits))
        for kind, limits in _kernels(op)
    )


def report(b: Build, op: str, dtype: str, device: str = "GPU") -> None:
    """Report as the fact `kernel:<op>:<dtype>:<device>` whether the kernel exists.

    Reports nothing for a GPU if the build has no GPU kernels.
    """
    if device == "GPU" and not has_gpu_rows():
        return
    there = registered(b.tf, op, dtype, device)
    has = "has a" if there else "has no"
    b.fact(
        f"kernel:{op}:{dtype}:{device}",
        there,
        f"TensorFlow {b.tf.__version__} {has} {device} kernel for {op} with {dtype}, according to "
        "its kernel registry",
    )


def report_name(b: Build, name: str, there: bool, kind: str = "") -> None:
    """Report as the fact `exists:<name>` whether this TensorFlow has the name."""
    has = "has" if there else "has no"
    b.fact(f"exists:{name}", there, f"TensorFlow {b.tf.__version__} {has} {kind}{name}")


def report_host_only(b: Build, what: str, function: Callable[..., Any], *inputs: Any) -> None:
    """Report which op types of `function` lack a GPU kernel, as the fact `host-only-ops`."""
    if not b.observing or not has_gpu_rows():
        return
    nodes = _computing(b.tf, function, *inputs)
    missing = sorted({node.type for node in nodes if not _runs_on(node, "GPU")})
    held = any(_is_int32_only(b.tf, node) for node in nodes)
    text = f"{what}: a GPU kernel for every op" + ", but int32 kernels work in host memory" * held
    if missing:
        text = f"{what}: no GPU kernel for {', '.join(missing)}"
    b.fact("host-only-ops", len(missing), text)


def without_kernel(tf: Any, function: Callable[..., Any], *inputs: Any, device: str = "GPU") -> list[str]:
    """Return the types of computing ops in `function` that lack a kernel on `device` for their dtypes."""
    return sorted({node.type for node in _computing(tf, function, *inputs) if not _runs_on(node, device)})


def _computing(tf: Any, function: Callable[..., Any], *inputs: Any) -> list[Any]:
    graph = tf.function(function).get_concrete_function(*inputs).graph
    return [node for node in _nodes(graph) if node.type not in NO_WORK | CALLS]


def _is_int32_only(tf: Any, node: Any) -> bool:
    """Return True if all inputs and outputs are int32. GPU kernels keep int32 values, such as sizes, on the
    host.
    """
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
