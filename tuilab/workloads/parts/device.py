"""Which device TensorFlow really takes when one is asked for, and copies to it that are made each time."""

from typing import Any

from tuilab.model.arms import family


def short(name: str) -> str:
    """Shorten a device's name: `/job:localhost/replica:0/task:0/device:GPU:0` → `GPU:0`."""
    return name.rpartition("/device:")[2] or name.lstrip("/")


def observed(tf: Any, device: str) -> str:
    """Observe where a tensor made under `device` lies: `GPU:0`. Soft placement may have moved it."""
    with tf.device(device):
        return short(tf.identity(tf.zeros(())).backing_device)


def observed_family(tensor: Any) -> str:
    """Return `CPU` or `GPU`: whose memory holds the tensor."""
    return family(short(tensor.backing_device))


def moved(tf: Any, tensor: Any, device: str) -> Any:
    """Return the tensor on `device` (`/GPU:0`): a node there in a graph, else a copy, made again in each
    call.

    Eagerly `tf.identity` under the device would copy once only: the runtime keeps the copy that an op asked
    for alongside the tensor and hands it out from then on (`TensorHandle::HasLocalMirror`).
    """
    if hasattr(tensor, "backing_device"):
        return tensor._copy_nograd(device_name=device.lstrip("/"))
    with tf.device(device):
        return tf.identity(tensor)
