"""TensorFlow's kernel registry as plain data. It lists GPU kernels even on machines without a GPU."""

import difflib
from functools import lru_cache
from typing import Any

from tuilab.analysis.operations import plain
from tuilab.worker.placement.kernels import Argument, Kernel, OpKernels

DEVICES = ("CPU", "GPU", "DEFAULT")


@lru_cache(maxsize=4096)
def look_up(op: str) -> OpKernels | None:
    """Return the op as this build of TensorFlow defines it; None if there is no such op."""
    from tensorflow.python.framework import kernels, op_def_registry

    definition = op_def_registry.get(op)
    if definition is None:
        return None
    registered = kernels.get_registered_kernels_for_op(op).kernel
    # A kernel with a label serves only nodes that name the label.
    plain = [k for k in registered if k.device_type in DEVICES and not k.label]
    return OpKernels(
        op=op,
        inputs=tuple(_argument(a) for a in definition.input_arg),
        outputs=tuple(_argument(a) for a in definition.output_arg),
        allowed={
            a.name: tuple(dtype_name(t) for t in a.allowed_values.list.type)
            for a in definition.attr
            if a.type in ("type", "list(type)")
        },
        kernels=tuple(_kernel(k) for k in plain),
    )


def known(op: str) -> OpKernels:
    return look_up(op) or OpKernels(op)


def dtype_name(value: Any) -> str:
    from tensorflow.python.framework import dtypes

    return str(dtypes.as_dtype(value).base_dtype.name)


@lru_cache(maxsize=1)
def op_names() -> tuple[str, ...]:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    listed = op_def_pb2.OpList()
    listed.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return tuple(sorted(op.name for op in listed.op))


def find(text: str) -> str | None:
    """Return the op that `text` names, exactly or in a common spelling (`matmul`, `tf.linalg.mat_mul`).

    For a oneDNN op, which may appear in the log of a CPU, returns the op that it implements.
    """
    names = op_names()
    text = plain(text) if plain(text) in names else text
    if text in names:
        return text
    wanted = _folded(text.rpartition(".")[2])
    return next((name for name in names if _folded(name) == wanted), None)


def nearest(text: str, count: int = 5) -> tuple[str, ...]:
    folded = {_folded(name): name for name in op_names() if not name.startswith("_")}
    wanted = _folded(text.rpartition(".")[2])
    within = [name for key, name in folded.items() if len(wanted) > 3 and wanted in key]
    alike = difflib.get_close_matches(wanted, folded, n=count, cutoff=0.5)
    return tuple(dict.fromkeys([*(folded[key] for key in alike), *sorted(within, key=len)]))[:count]


def has_gpu_kernels() -> bool:
    return any(k.device == "GPU" for k in known("MatMul").kernels)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _argument(arg: Any) -> Argument:
    return Argument(
        name=arg.name,
        dtype=dtype_name(arg.type) if arg.type else "",
        attribute=arg.type_attr or arg.type_list_attr,
        many=arg.number_attr or arg.type_list_attr,
    )


def _kernel(kernel: Any) -> Kernel:
    return Kernel(
        device=kernel.device_type,
        types={
            c.name: frozenset(dtype_name(t) for t in c.allowed_values.list.type) for c in kernel.constraint
        },
        host=frozenset(kernel.host_memory_arg),
        priority=kernel.priority,
    )
