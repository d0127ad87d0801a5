"""Synthetic images and labels: in memory, or in a TFRecord file that exists only during the run."""

import os
import shutil
import tempfile
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tuilab.model.quantity import size
from tuilab.model.roofline import Work
from tuilab.workloads.base import Build, Unavailable
from tuilab.workloads.parts.sharing import shared

CHANNELS, LABELS = 3, 10
PIXEL_BYTES = {"uint8": 1, "float32": 4}
RECORD_EXTRA = 200
"""Bytes of a record in addition to its pixels, a generous estimate for names, label and checksums."""
REPORT_EVERY = 64


@dataclass(frozen=True)
class Shape:
    """Number, size and type of the images. Pixels are uint8 from 0 to 255, or float32 from 0 to 1."""

    count: int
    side: int
    pixels: str

    @property
    def image(self) -> tuple[int, int, int]:
        return (self.side, self.side, CHANNELS)

    @property
    def bytes(self) -> int:
        return self.count * self.side * self.side * CHANNELS * PIXEL_BYTES[self.pixels]


def step(batch: int, side: int, filters: int, *, dtype: str, passes: int) -> Work:
    """Return the work of one training step: a 3 × 3 convolution, pooling and ten classes, forward and
    backward.

    Counts only the convolution and the last layer. The convolution counts twice, because images have no
    gradient; the last layer counts three times. For these filters, Winograd's algorithm needs 1 / 2.25 of the
    convolution's multiplications (Lavin and Gray 2016). Weights, images and labels are float32. passes:
    number of times that each weight is read or written.
    """
    out, pooled = side - 2, (side - 2) // 2
    convolved = 2 * 2 * 9 * CHANNELS * filters * out**2 * batch
    dense = 3 * 2 * pooled**2 * filters * LABELS * batch
    weights = 9 * CHANNELS * filters + filters + pooled**2 * filters * LABELS + LABELS
    return Work(
        flop=convolved + dense,
        least_flop=convolved / 2.25 + dense,
        inputs=batch * (4 * side**2 * CHANNELS + 4),
        outputs=0.0,
        state=4.0 * passes * weights,
        dtype=dtype,
        note="the convolution and the output layer, forward and backward",
    )


_arrays: dict[Shape, tuple[tuple[Any, Any], int]] = {}
_files: dict[Shape, tuple[str, int]] = {}


def random_batch(b: Build) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    count, side = b.integer("batch"), b.integer("side")
    images = rng.random((count, side, side, CHANNELS), dtype=np.float32)
    return images, rng.integers(0, LABELS, count, np.int32)


def _random(shape: Shape, rng: Any, count: int) -> Any:
    import numpy as np

    if shape.pixels == "uint8":
        return rng.integers(0, 256, (count, *shape.image), dtype=np.uint8)
    return rng.random((count, *shape.image), dtype=np.float32)


def in_memory(b: Build, shape: Shape) -> AbstractContextManager[tuple[Any, Any]]:
    """Yield images and labels as tensors in host memory that the arms of a run share."""
    return shared(_arrays, shape, lambda: _made(b, shape), lambda _: None)


def _made(b: Build, shape: Shape) -> tuple[Any, Any]:
    import numpy as np

    b.progress("making images", 0, shape.count, "images")
    rng = np.random.default_rng(0)
    with b.tf.device(b.host):
        images = b.tf.convert_to_tensor(_random(shape, rng, shape.count))
        return images, b.tf.convert_to_tensor(rng.integers(0, LABELS, shape.count, np.int32))


def in_file(b: Build, shape: Shape) -> AbstractContextManager[str]:
    """Yield the path of a TFRecord file of images that the arms of a run share."""
    return shared(_files, shape, lambda: _write(b, shape), _forget)


def _write(b: Build, shape: Shape) -> str:
    """Write the records to a temporary file. Raises Unavailable if the disk has too little space."""
    import numpy as np

    need = shape.bytes + shape.count * RECORD_EXTRA
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if need > free:
        raise Unavailable(f"the records need {size(need)} in {tempfile.gettempdir()}; {size(free)} is free")
    handle, name = tempfile.mkstemp(prefix="tuilab-", suffix=".tfrecord")
    rng = np.random.default_rng(0)
    try:
        with b.tf.io.TFRecordWriter(name) as writer:
            for index in range(shape.count):
                if index % REPORT_EVERY == 0:
                    b.progress("writing records", index, shape.count, "records")
                pixels = _random(shape, rng, 1).tobytes()
                writer.write(_record(b.tf, pixels, int(rng.integers(0, LABELS))))
    except BaseException:
        os.close(handle)
        os.unlink(name)
        raise
    return _hidden(handle, name)


def _hidden(handle: int, name: str) -> str:
    """Unlink the file if the system allows it, and return a path to its open descriptor.

    This way, a killed worker leaves nothing on the disk.
    """
    through = Path(f"/proc/{os.getpid()}/fd/{handle}")
    if through.exists():
        os.unlink(name)
        return str(through)
    os.close(handle)
    return name


def _forget(path: str) -> None:
    if path.startswith("/proc/"):
        os.close(int(Path(path).name))
    else:
        Path(path).unlink(missing_ok=True)


def _record(tf: Any, pixels: bytes, label: int) -> bytes:
    train = tf.train
    features = {
        "image": train.Feature(bytes_list=train.BytesList(value=[pixels])),
        "label": train.Feature(int64_list=train.Int64List(value=[label])),
    }
    record: bytes = train.Example(features=train.Features(feature=features)).SerializeToString()
    return record


def parse(tf: Any, shape: Shape, record: Any) -> tuple[Any, Any]:
    found = tf.io.parse_single_example(
        record, {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    )
    image = tf.reshape(tf.io.decode_raw(found["image"], shape.pixels), shape.image)
    return image, tf.cast(found["label"], tf.int32)
