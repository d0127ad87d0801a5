"""Finds the device that TensorFlow actually uses, and copies tensors to a device in every call."""

from typing import Any

from tuilab.model.arms import family


def short(name: str) -> str:
    """Shorten a device name: `/job:localhost/replica:0/task:0/device:GPU:0` → `GPU:0`."""
    return name.rpartition("/device:")[2] or name.lstrip("/")


def resident(tf: Any, values: Any, device: str) -> Any:
    """Return the host array as a new tensor on `device` (`/GPU:0`)."""
    with tf.device(device):
        return tf.identity(tf.convert_to_tensor(values))


def observed(tf: Any, device: str) -> str:
    """Return the device of a tensor created in the scope of `device`, as `GPU:0`. Soft placement may move the
    tensor.
    """
    with tf.device(device):
        return short(tf.identity(tf.zeros(())).backing_device)


def observed_family(tensor: Any) -> str:
    return family(short(tensor.backing_device))


def move_to(tf: Any, tensor: Any, device: str) -> Any:
    """Return the tensor on `device` (`/GPU:0`): in a graph, a node on that device; otherwise, a new copy in
    each call.

    In eager mode, `tf.identity` in a device scope would copy only once: the runtime caches the copy with the
    tensor and returns it in later calls (`TensorHandle::HasLocalMirror`).
    """
    if hasattr(tensor, "backing_device"):
        return tensor._copy_nograd(device_name=device.lstrip("/"))
    with tf.device(device):
        return tf.identity(tensor)
