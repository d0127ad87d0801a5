"""Runs the doctor's probe of TensorFlow: import, build, device list, then a little work on the first GPU.

`python -m tuilab.worker.doctor_probe` prints JSON lines (`tuilab.model.doctor.Stage`), one before and one
after each step, so that a hang or a crash shows where it happened. TensorFlow's output goes to standard
error.
"""

import os
import time
from collections.abc import Callable
from typing import Any

from tuilab.model.doctor import Began, Built, Imported, Listed, ListedGpu, Stage, Tried, encode
from tuilab.processes import die_with_parent
from tuilab.worker.cuda_libraries import preload_cusolver

STDOUT, STDERR = 1, 2


class Speaker:
    """Writes stages to the original standard output. Redirects all other output to standard error."""

    def __init__(self) -> None:
        self._fd = os.dup(STDOUT)
        os.dup2(STDERR, STDOUT)

    def say(self, stage: Stage) -> None:
        os.write(self._fd, encode(stage))


def sentence(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:1_500]}"


def load(speaker: Speaker) -> Any:
    speaker.say(Began(what="importing TensorFlow"))
    begun = time.monotonic()
    preload_cusolver()
    try:
        import tensorflow as tf
    except BaseException as error:  # a broken installation may raise any error
        speaker.say(Imported(error=sentence(error)))
        return None
    speaker.say(Imported(version=tf.__version__, seconds=time.monotonic() - begun))
    return tf


def build(tf: Any) -> Built:
    info = tf.sysconfig.get_build_info()
    return Built(
        cuda=bool(info.get("is_cuda_build")),
        cuda_version=str(info.get("cuda_version", "")),
        cudnn_version=str(info.get("cudnn_version", "")),
        architectures=tuple(map(str, info.get("cuda_compute_capabilities", ()))),
    )


def devices(tf: Any) -> Listed:
    try:
        found = []
        for gpu in tf.config.list_physical_devices("GPU"):
            details = tf.config.experimental.get_device_details(gpu)
            capability = ".".join(map(str, details.get("compute_capability", ())))
            name = gpu.name.rpartition("physical_device:")[2]
            description = str(details.get("device_name", ""))
            found.append(ListedGpu(name=name, description=description, compute_capability=capability))
        return Listed(gpus=tuple(found))
    except Exception as error:
        return Listed(error=sentence(error))


def multiply(tf: Any) -> Any:
    """Run an elementwise op, whose kernel TensorFlow's own compiler (MLIR) generates."""
    side = tf.ones((256, 256))
    return tf.multiply(side, side)


def matmul(tf: Any) -> Any:
    """Multiply two 256 × 256 matrices, using cuBLAS."""
    side = tf.ones((256, 256))
    return tf.matmul(side, side)


def convolution(tf: Any) -> Any:
    """Run a 3 × 3 convolution on a 32 × 32 image, using cuDNN."""
    return tf.nn.conv2d(tf.ones((1, 32, 32, 8)), tf.ones((3, 3, 8, 8)), strides=1, padding="SAME")


def compiled(tf: Any) -> Any:
    """Compute exp and pow, which XLA takes from libdevice."""
    return tf.function(lambda x: tf.exp(x) + tf.pow(x, x), jit_compile=True)(tf.ones((1024,)))


WORK: dict[str, Callable[[Any], Any]] = {
    "Mul": multiply,
    "MatMul": matmul,
    "Conv2D": convolution,
    "XLA": compiled,
}


def attempt(tf: Any, what: str) -> Tried:
    begun = time.monotonic()
    try:
        with tf.device("/GPU:0"):
            result = WORK[what](tf)
        result.numpy()
        device = result.backing_device.rpartition("/device:")[2]
    except Exception as error:
        return Tried(what=what, error=sentence(error))
    seconds = time.monotonic() - begun
    if not device.startswith("GPU"):
        return Tried(
            what=what, device=device, seconds=seconds, error=f"the op ran on {device}, not on the GPU"
        )
    return Tried(what=what, device=device, seconds=seconds)


def main() -> None:
    die_with_parent()
    speaker = Speaker()
    tf = load(speaker)
    if tf is None:
        return
    speaker.say(build(tf))
    speaker.say(Began(what="listing the devices"))
    listed = devices(tf)
    speaker.say(listed)
    if not listed.gpus:
        return
    # With soft placement, an op without a working GPU kernel would run on the CPU and seem to work.
    tf.config.set_soft_device_placement(False)
    for what in WORK:
        speaker.say(Began(what=what))
        speaker.say(attempt(tf, what))


if __name__ == "__main__":
    main()
