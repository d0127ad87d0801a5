"""Finds out how TensorFlow responds to an op that is forced onto the GPU, without executing the op."""

import keyword
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuilab.model.ops import CONTROL_FLOW
from tuilab.model.sanitize import sanitize_line
from tuilab.worker.placement.kernels import OpKernels, Types

GPU = "/GPU:0"
_PLACER = "Cannot assign a device"
# These ops crash the runtime unless they are part of a complete loop.
_IN_LOOPS = CONTROL_FLOW - {"ControlTrigger"}
_NOT_ALONE = _IN_LOOPS | {f"Ref{name}" for name in _IN_LOOPS}


def forced(tf: Any, kernels: OpKernels, types: Types, device: str = GPU) -> str:
    """Return TensorFlow's response to the op with these types on `device`, without soft placement.

    types: dtypes by type attribute; missing dtypes are chosen to fit a kernel. Returns "" if no call of the
    op can be constructed. The op is in a branch that is not taken, so TensorFlow places the op and looks up
    its kernel but never runs it.
    """
    if kernels.op.startswith("_") or kernels.op in _NOT_ALONE:
        return ""
    try:
        function, inputs = _function(tf, kernels, kernels.fitting(types), device)
    except (TypeError, ValueError, KeyError, AttributeError, NotImplementedError) as error:
        return _refusal(error)
    with _strict(tf):
        try:
            function(tf.constant(False), *inputs)
        except tf.errors.OpError as error:
            return _informative_line(str(error), kernels.op)
        except (TypeError, ValueError) as error:
            return _refusal(error)
    return f"accepted: {kernels.op} can be placed on {device}"


@contextmanager
def _strict(tf: Any) -> Iterator[None]:
    soft = tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(False)
    try:
        yield
    finally:
        tf.config.set_soft_device_placement(soft)


def _function(tf: Any, kernels: OpKernels, types: Types, device: str) -> tuple[Any, list[Any]]:
    dtypes = [tf.dtypes.as_dtype(a.dtype or types[a.attribute]) for a in kernels.inputs]
    if any(dtype in (tf.resource, tf.variant) for dtype in dtypes):
        raise NotImplementedError("the probe cannot create a resource")
    attributes = dict(_attributes(tf, kernels, types))

    def probe(flag: Any, *inputs: Any) -> Any:
        def run() -> Any:
            given = {
                _python(a.name): [tensor, tensor] if a.many else tensor
                for a, tensor in zip(kernels.inputs, inputs, strict=True)
            }
            with tf.device(device):
                made = getattr(tf.raw_ops, kernels.op)(**given, **attributes)
            outputs = [t for t in tf.nest.flatten(made) if isinstance(t, tf.Tensor)]
            if not outputs:
                return tf.constant(0)
            return tf.size(outputs[0])

        return tf.cond(flag, run, lambda: tf.constant(0))

    signature = [tf.TensorSpec((), tf.bool), *(tf.TensorSpec(None, dtype) for dtype in dtypes)]
    function = tf.function(probe, input_signature=signature, autograph=False)
    function.get_concrete_function()
    return function, [_empty(tf, dtype) for dtype in dtypes]


def _empty(tf: Any, dtype: Any) -> Any:
    if dtype == tf.string:
        return tf.constant([], tf.string)
    return tf.cast(tf.zeros((0,)), dtype)


def _attributes(tf: Any, kernels: OpKernels, types: Types) -> Iterator[tuple[str, Any]]:
    """Yield a value for each required attribute that the op's inputs do not determine."""
    from tensorflow.python.framework import op_def_registry

    settled = {a.attribute for a in kernels.inputs} | {a.many for a in kernels.inputs}
    for attribute in op_def_registry.get(kernels.op).attr:
        name, kind = attribute.name, attribute.type
        if name in settled or (attribute.HasField("default_value") and name not in types):
            continue
        if kind == "type":
            yield _python(name), tf.dtypes.as_dtype(types.get(name) or "float32")
        elif kind == "tensor":
            yield _python(name), tf.make_tensor_proto(_empty(tf, tf.dtypes.as_dtype(types["dtype"])).numpy())
        elif kind == "string":
            allowed = attribute.allowed_values.list.s
            yield _python(name), allowed[0].decode() if allowed else ""
        elif kind in _SOME:
            yield _python(name), max(_SOME[kind], attribute.minimum) if kind == "int" else _SOME[kind]
        else:
            raise NotImplementedError(kind)


_SOME: dict[str, Any] = {"int": 1, "float": 1.0, "bool": False, "shape": [1], "list(int)": [1, 1, 1, 1]}


def _python(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _informative_line(message: str, op: str) -> str:
    """Return the most informative line of an error: the placer's line, or else the last line before the node
    name.
    """
    text = (
        message.partition("\n\t [[")[0]
        .partition("Registered devices:")[0]
        .partition("Registered kernels:")[0]
    )
    lines = [line.strip().rstrip(".") for line in text.splitlines() if line.strip()]
    text = next((line for line in lines if line.startswith(_PLACER)), lines[-1] if lines else "")
    if "to support Op 'Switch'" in text and op != "Switch":
        # No branch can return this dtype, so the op itself was not checked.
        return ""
    text = (
        text.partition(" [Op:")[0]
        .replace("cond/then/_0/cond/", "")
        .replace(" used by {{node " + op + "}}", "")
    )
    return sanitize_line(text.replace("{{node " + op + "}}", "it"), 1_000)


def _refusal(error: Exception) -> str:
    """Return the last line of an error from the op's own checks; "" for an error caused by how this module
    calls the op.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if lines else ""
    return sanitize_line(text, 1_000) if "not in list of allowed values" in text else ""
