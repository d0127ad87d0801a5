"""Input pipelines: the same elements prepared serially, in parallel, ahead of time, once, or in the step."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.parameters import Choice, Integer, LogInteger, Parameter, Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Variant
from tuilab.workloads import _images
from tuilab.workloads._burn import Burn, burn
from tuilab.workloads._device import observed_family
from tuilab.workloads.base import Build, Unavailable

BRIGHTNESS = 0.2
FROM_MEMORY = "from-memory"
NONE, BRIGHT, FLIPPED = "none", "brightness", "brightness and flip"
IN_FLIGHT = 6
"""Batches that buffers hold at the same time."""
FEWEST = 6
"""Steps over which phases are timed, at least."""
PRIMING = 2
"""Batches drawn before a block is timed, so that buffers are as full as they are in the long run."""

PARAMETERS: tuple[Parameter, ...] = (
    LogInteger(
        name="images",
        label="images",
        help="Images in the data set; it is repeated without end.",
        default=1_024,
        low=32,
        high=65_536,
        binary=False,
    ),
    Integer(name="side", label="side", help="Images are side × side × 3.", default=64, low=8, high=512),
    Choice(
        name="pixels",
        label="pixels",
        help="How the images are stored; they reach the model as float32 from 0 to 1.",
        default="uint8",
        options=("uint8", "float32"),
    ),
    LogInteger(name="batch", label="batch", help="Images in a batch.", default=32, low=1, high=512),
    Integer(
        name="host_cost",
        label="host cost",
        help="Work of one processor for each image, beside the augmentation: real work, measured here.",
        unit="µs",
        default=1_000,
        low=0,
        high=20_000,
    ),
    Choice(
        name="augment",
        label="augment",
        help="Random changes of each image: its brightness, and whether left and right are swapped.",
        default=FLIPPED,
        options=(NONE, BRIGHT, FLIPPED),
    ),
    Choice(
        name="source",
        label="source",
        help="Images in memory, or in a TFRecord file, written first and read through the page cache.",
        default="memory",
        options=("memory", "tfrecord"),
    ),
    Integer(
        name="workers",
        label="parallel calls",
        help="Images prepared at the same time in all variants but serial; 0 lets tf.data choose (AUTOTUNE).",
        default=0,
        low=0,
        high=64,
    ),
)

VARIANTS = (
    Variant(
        "serial",
        "One image after another, when a batch is asked for: TensorFlow's own rewrites, which would let the "
        "map run ahead of the step or in parallel, are switched off.",
    ),
    Variant(
        "as-written",
        "Map and batch with no further word, and TensorFlow's own rewrites left on: one image after another, "
        "but ahead of the step.",
    ),
    Variant("parallel", "Several images at a time, no batches ahead of the step."),
    Variant("prefetched", "Several images at a time, batches ahead of the step."),
    Variant("cached", "Prepared once and kept in memory; augmented anew, in parallel, ahead of the step."),
    Variant(FROM_MEMORY, "As prefetched, from memory even where the source is a TFRecord file."),
    Variant("in-step", "As prefetched, but raw: scaled and augmented a batch at a time on the device."),
)

AHEAD = ("prefetched", FROM_MEMORY, "cached", "in-step")


def memory(values: Mapping[str, Value]) -> int:
    """Bytes at the peak, by what was seen: the images three times, the cache twice, batches in flight."""
    shape = shape_of(values)
    image = shape.side * shape.side * _images.CHANNELS * 4
    return 3 * shape.bytes + 2 * shape.count * image + IN_FLIGHT * int(values["batch"]) * image


def shape_of(values: Mapping[str, Value]) -> _images.Shape:
    """The data set that the values describe."""
    return _images.Shape(int(values["images"]), int(values["side"]), str(values["pixels"]))


def fed(step: Work, values: Mapping[str, Value], arm: Arm) -> Work:
    """The work of a step with that of its input: the batch that travels, and the host's cost of its images.

    A cached image has been prepared before, and the host's cost is all that is known of the preparation.
    """
    count, side = int(values["batch"]), int(values["side"])
    pixel = _images.PIXEL_BYTES[str(values["pixels"])] if arm.variant == "in-step" else 4
    cost_s = 0.0 if arm.variant == "cached" else count * int(values["host_cost"]) * 1e-6
    return msgspec.structs.replace(
        step,
        to_device=count * side**2 * _images.CHANNELS * pixel,
        host_s=cost_s,
        host_parallel=arm.variant not in ("serial", "as-written"),
    )


@dataclass
class Feed:
    """An endless pipeline. `next` draws a batch (images, labels) that lies on the host.

    prepare: what the step has still to do with the images on the device (variant in-step); else nothing.
    traced: how often Python ran the function given to `map`.
    """

    dataset: Any
    prepare: Callable[[Any], Any]
    steady: bool
    hold: ExitStack
    traced: list[int] = field(default_factory=lambda: [0])
    _iterator: Any = None

    def next(self) -> tuple[Any, Any]:
        """The next batch."""
        if self._iterator is None:
            self._iterator = iter(self.dataset)
        batch: tuple[Any, Any] = next(self._iterator)
        return batch

    @contextmanager
    def running(self, inner: AbstractContextManager[Any], call: Callable[[], object]) -> Iterator[None]:
        """For the length of a block: the pipeline runs, primed by a few calls, and is quiet afterwards.

        A pipeline that works ahead would otherwise take processors from the arm that is timed next, and
        begin its own next block with buffers filled for free.
        """
        with inner:
            if not self.steady:
                for _ in range(PRIMING):
                    call()
            try:
                yield
            finally:
                self.rest()

    def rest(self) -> None:
        """Stop what works ahead; the next batch starts it again. A serial pipeline is always at rest."""
        if not self.steady:
            self._iterator = None

    def close(self) -> None:
        """Free the images, the file, the buffers."""
        self._iterator = None
        self.hold.close()


def open_feed(b: Build) -> Feed:
    """The pipeline of the arm's variant, its facts reported, its cache filled."""
    if b.arm.variant == FROM_MEMORY and b.word("source") == "memory":
        raise Unavailable("the source is memory already: see the variant prefetched")
    shape, cost = shape_of(b.values), burn(b.tf, b.integer("host_cost"))
    hold = ExitStack()
    try:
        feed = _feed(b, shape, cost, hold)
        if b.arm.variant == "cached":
            _fill_cache(b, feed, shape.count)
        _report(b, feed, cost)
    except BaseException:
        hold.close()
        raise
    return feed


def _feed(b: Build, shape: _images.Shape, cost: Burn | None, hold: ExitStack) -> Feed:
    tf, variant = b.tf, b.arm.variant
    traced = [0]
    augment = augmentation(tf, b.word("augment"))
    in_step = variant == "in-step"

    def element(*parts: Any) -> tuple[Any, Any]:
        traced[0] += 1
        image, label = parts if len(parts) == 2 else _images.parse(tf, shape, parts[0])
        if cost is not None:
            image = cost.apply(tf, image)
        return (image, label) if in_step else (scaled(tf, image), label)

    def augmented(image: Any, label: Any) -> tuple[Any, Any]:
        return augment(image), label

    def whole(*parts: Any) -> tuple[Any, Any]:
        return augmented(*element(*parts))

    data = _elements(b, shape, hold)
    serial = variant in ("serial", "as-written")
    calls = None if serial else b.integer("workers") or tf.data.AUTOTUNE
    if variant == "cached":
        data = data.map(element, num_parallel_calls=calls).cache().repeat()
        data = data.map(augmented, num_parallel_calls=calls)
    else:
        data = data.repeat().map(element if in_step else whole, num_parallel_calls=calls)
    data = data.batch(b.integer("batch"), drop_remainder=True)
    if variant in AHEAD:
        data = data.prefetch(tf.data.AUTOTUNE)
    if variant in ("serial", "parallel"):
        data = data.with_options(_unaltered(tf))

    def prepare(images: Any) -> Any:
        return augment(scaled(tf, images)) if in_step else images

    return Feed(data, prepare, variant == "serial", hold, traced)


def _elements(b: Build, shape: _images.Shape, hold: ExitStack) -> Any:
    if b.word("source") == "tfrecord" and b.arm.variant != FROM_MEMORY:
        return b.tf.data.TFRecordDataset(hold.enter_context(_images.in_file(b, shape)))
    return b.tf.data.Dataset.from_tensor_slices(hold.enter_context(_images.in_memory(b, shape)))


def _unaltered(tf: Any) -> Any:
    """Leave the pipeline as it is: each of these rewrites would make it work ahead or in parallel."""
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = False
    options.experimental_optimization.map_and_batch_fusion = False
    options.experimental_optimization.inject_prefetch = False
    return options


def scaled(tf: Any, images: Any) -> Any:
    """float32 from 0 to 1."""
    return tf.cast(images, tf.float32) / 255.0 if images.dtype == tf.uint8 else images


def augmentation(tf: Any, kind: str) -> Callable[[Any], Any]:
    """A function for one image or a batch of them; in a batch each image gets its own change."""

    def change(images: Any) -> Any:
        if kind == NONE:
            return images
        single = images.shape.rank == 3
        images = images[tf.newaxis] if single else images
        each = tf.stack([tf.shape(images)[0], 1, 1, 1])
        images = images + tf.random.uniform(each, -BRIGHTNESS, BRIGHTNESS)
        if kind == FLIPPED:
            images = tf.where(tf.random.uniform(each) < 0.5, tf.reverse(images, [2]), images)
        return images[0] if single else images

    return change


def _fill_cache(b: Build, feed: Feed, images: int) -> None:
    """Go through the data once, so that every image is in the cache."""
    batch = b.integer("batch")
    for index in range(-(-images // batch) + 1):
        b.progress("filling the cache", index * batch, images, "images")
        feed.next()


def _report(b: Build, feed: Feed, cost: Burn | None) -> None:
    drawn = PRIMING
    for _ in range(drawn):
        with b.tf.device(b.device):
            images, _ = feed.next()
    elements, runs = drawn * b.integer("batch"), feed.traced[0]
    times = "once" if runs == 1 else f"{runs} times"
    b.fact(
        "mapped-python-runs",
        runs,
        f"Python ran the mapped function {times}, while tracing it, for {elements} images drawn",
    )
    place = observed_family(images)
    b.fact(
        "map-device",
        place,
        f"inside a scope for {b.arm.device} the mapped function's images came from the {place}",
    )
    if cost is not None:
        b.fact(
            "host-cost-us",
            cost.cost_s * 1e6,
            f"each image costs the host {cost.cost_s * 1e6:.0f} µs of one processor, measured",
        )
    feed.rest()
