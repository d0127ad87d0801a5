"""Input pipelines that prepare the same elements in different ways: serially, in parallel, ahead of time,
only once (cached), or in the step.

A pipeline continues from block to block, as in training. A restarted pipeline would have to tune its
parallelism and fill its buffers again, and would appear 25% too slow. Between blocks, the pipeline is idle
with full buffers, so it takes no processor from the timed arm. Ready elements are drawn before the clock
starts, because they were prepared outside the timed block. AUTOTUNE would double a prefetch buffer each time
that draining empties a full buffer. Training never drains a pipeline, so buffers have a fixed size here. The
size determines how many batches are ready, not how fast they arrive.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.parameters import Choice, Integer, LogInteger, Parameter, Value
from tuilab.model.quantity import seconds
from tuilab.model.roofline import Work
from tuilab.model.workload import Variant
from tuilab.workloads.base import Build, Case, Mark, Unavailable
from tuilab.workloads.parts import images
from tuilab.workloads.parts.burn import Burn, burn
from tuilab.workloads.parts.device import observed_family
from tuilab.workloads.parts.drain import LEAST_CALLS, Drain

BRIGHTNESS = 0.2
FROM_MEMORY = "from-memory"
NONE, BRIGHT, FLIPPED = "none", "brightness", "brightness and flip"
IN_FLIGHT = 6
"""Maximum number of batches that exist at the same time in a pipeline."""
PREFETCH = 2

PARAMETERS: tuple[Parameter, ...] = (
    LogInteger(
        name="images",
        help="Images in the data set, which repeats endlessly.",
        default=1_024,
        low=32,
        high=65_536,
        binary=False,
    ),
    Integer(name="side", help="Images are side × side × 3.", default=64, low=8, high=512),
    Choice(
        name="pixels",
        help="How the images are stored; they reach the model as float32 from 0 to 1.",
        default="uint8",
        options=("uint8", "float32"),
    ),
    LogInteger(name="batch", help="Images in a batch.", default=32, low=1, high=512),
    Integer(
        name="host_cost",
        help="Processor time per image, in addition to the augmentation: real work, calibrated on "
        "this machine.",
        unit="µs",
        default=1_000,
        low=0,
        high=20_000,
    ),
    Choice(
        name="augment",
        help="Random changes to each image: its brightness, and left-right flips.",
        default=FLIPPED,
        options=(NONE, BRIGHT, FLIPPED),
    ),
    Choice(
        name="source",
        help="Where the images are: in memory, or in a TFRecord file that is read through the page cache.",
        default="memory",
        options=("memory", "tfrecord"),
    ),
    Integer(
        name="workers",
        label="parallel calls",
        help="Images prepared at the same time (all variants but serial); 0 lets tf.data choose (AUTOTUNE).",
        default=0,
        low=0,
        high=64,
    ),
)

VARIANTS = (
    Variant(
        "serial",
        "One image at a time, on demand: TensorFlow's optimizations that would run the map ahead of the step "
        "or in parallel are disabled.",
    ),
    Variant(
        "as-written",
        "Plain map and batch: one image at a time, but ahead of the step, because TensorFlow adds a "
        "prefetch.",
    ),
    Variant("parallel", "Several images at a time, without prefetching."),
    Variant("prefetched", "Several images at a time, with batches prepared ahead of the step."),
    Variant(
        "cached",
        "Images are prepared once and kept in memory; each use augments them in parallel, ahead of the step.",
    ),
    Variant(FROM_MEMORY, "Like prefetched, but from memory even if the source is a TFRecord file."),
    Variant(
        "python-loop",
        "A Python loop: NumPy changes each image, then the images are stacked into a batch and "
        "converted to a tensor.",
    ),
    Variant(
        "in-step",
        "Like prefetched, but with raw images, which the device scales and augments one batch at a time.",
    ),
)

AHEAD = ("prefetched", FROM_MEMORY, "cached", "in-step")


def memory(values: Mapping[str, Value]) -> int:
    """Return peak bytes, as observed: three copies of the images, two copies of the cache, and the batches in
    flight.
    """
    shape = shape_of(values)
    image = shape.side * shape.side * images.CHANNELS * 4
    return 3 * shape.bytes + 2 * shape.count * image + IN_FLIGHT * int(values["batch"]) * image


def shape_of(values: Mapping[str, Value]) -> images.Shape:
    return images.Shape(int(values["images"]), int(values["side"]), str(values["pixels"]))


def fed(step: Work, values: Mapping[str, Value], arm: Arm) -> Work:
    """Return the work of a step with its input: transferring the batch, and preparing the images on the host.

    Cached images need no preparation. Preparation on the device is not counted.
    """
    count, side = int(values["batch"]), int(values["side"])
    pixel = images.PIXEL_BYTES[str(values["pixels"])] if arm.variant == "in-step" else 4
    cost_s = 0.0 if arm.variant == "cached" else count * int(values["host_cost"]) * 1e-6
    return msgspec.structs.replace(
        step,
        to_device=count * side**2 * images.CHANNELS * pixel,
        host_s=cost_s,
        host_parallel=arm.variant not in ("serial", "as-written", "python-loop"),
    )


@dataclass
class Feed:
    """An endless pipeline. `next` draws a batch (images, labels) in host memory."""

    dataset: Any
    prepare: Callable[[Any], Any]
    """In the variant in-step, prepares the images on the device, as part of the step; otherwise returns them
    unchanged.
    """
    serial: bool
    """True if the pipeline works only while a batch is requested, and is idle between calls."""
    hold: ExitStack
    traced: list[int] = field(default_factory=lambda: [0])
    """Number of times that Python ran the function passed to `map`."""
    start_s: float = 0.0
    first_s: float = 0.0
    """Seconds from the creation of the iterator to the first batch."""
    _iterator: Any = None

    def __post_init__(self) -> None:
        self.drain = Drain(self.next, self._end)

    def _end(self) -> None:
        self._iterator = None

    def next(self) -> tuple[Any, Any]:
        if self._iterator is None:
            self._iterator = iter(self.dataset)
        batch: tuple[Any, Any] = next(self._iterator)
        return batch

    def start(self) -> tuple[Any, Any]:
        begun = time.perf_counter()
        self._iterator = iter(self.dataset)
        self.start_s = time.perf_counter() - begun
        begun = time.perf_counter()
        self.next()
        self.first_s = time.perf_counter() - begun
        batch: tuple[Any, Any] = self.drain.pace()
        return batch

    def case(self, b: Build, step: Callable[..., Any], **observed: Any) -> Case:
        """Return the case that draws a batch and passes it to `step` in each call.

        observed: the fields of the case that describe the step: its device, its function and others.
        """

        def call() -> Any:
            return step(*self.next())

        def marked(mark: Mark) -> Any:
            with mark("input_wait"):
                batch = self.next()
            return step(*batch)

        def scope() -> AbstractContextManager[Any]:
            inner = b.tf.device(b.device)
            return inner if self.serial else self.drain.running(inner, call)

        return Case(
            call=call,
            scope=scope,
            marked=marked,
            datasets=() if isinstance(self.dataset, _PythonLoop) else (self.dataset,),
            drained=not self.serial,
            least_calls=1 if self.serial else LEAST_CALLS,
            close=self.close,
            **observed,
        )

    def close(self) -> None:
        self._iterator = None
        self.hold.close()


def open_feed(b: Build) -> Feed:
    """Return the pipeline for the arm's variant, after reporting its facts and filling its cache."""
    if b.arm.variant == FROM_MEMORY and b.word("source") == "memory":
        raise Unavailable("the source is already in memory: use the variant prefetched")
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


def _feed(b: Build, shape: images.Shape, cost: Burn | None, hold: ExitStack) -> Feed:
    tf, variant = b.tf, b.arm.variant
    traced = [0]
    kind = b.word("augment")
    in_step = variant == "in-step"

    def element(*parts: Any) -> tuple[Any, Any]:
        traced[0] += 1
        image, label = parts if len(parts) == 2 else images.parse(tf, shape, parts[0])
        if cost is not None:
            image = cost.apply(tf, image)
        return (image, label) if in_step else (scaled(tf, image), label)

    def augmented(image: Any, label: Any) -> tuple[Any, Any]:
        return augmented_image(tf, kind, image), label

    def whole(*parts: Any) -> tuple[Any, Any]:
        return augmented(*element(*parts))

    if variant == "python-loop":
        return Feed(_PythonLoop(b, shape, cost, hold), lambda images: images, True, hold, traced)
    data = _elements(b, shape, hold)
    serial = variant in ("serial", "as-written")
    calls = None if serial else b.integer("workers") or tf.data.AUTOTUNE
    if variant == "cached":
        data = data.map(element, num_parallel_calls=calls).cache().repeat()
        data = data.map(augmented, num_parallel_calls=calls)
    else:
        data = data.repeat().map(element if in_step else whole, num_parallel_calls=calls)
    data = data.batch(b.integer("batch"), drop_remainder=True)
    if variant in (*AHEAD, "as-written"):
        data = data.prefetch(PREFETCH)
    if options := _options(tf, variant):
        data = data.with_options(options)

    def prepare(images: Any) -> Any:
        return augmented_batch(tf, kind, scaled(tf, images)) if in_step else images

    return Feed(data, prepare, variant == "serial", hold, traced)


class _PythonLoop:
    def __init__(self, b: Build, shape: images.Shape, cost: Burn | None, hold: ExitStack) -> None:
        if b.word("source") == "tfrecord":
            raise Unavailable("the Python loop takes its images from memory")
        self._b, self._cost = b, cost
        pixels, labels = hold.enter_context(images.in_memory(b, shape))
        self._images, self._labels = pixels.numpy(), labels.numpy()

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        import numpy as np

        tf, kind, rng, at = self._b.tf, self._b.word("augment"), np.random.default_rng(0), 0
        while True:
            batch = []
            for _ in range(self._b.integer("batch")):
                image = self._images[at]
                at = (at + 1) % len(self._images)
                if self._cost is not None:
                    self._cost.apply(tf, tf.zeros(()))
                image = image.astype(np.float32) / 255.0 if image.dtype == np.uint8 else image
                if kind != NONE:
                    image = image + np.float32(rng.uniform(-BRIGHTNESS, BRIGHTNESS))
                if kind == FLIPPED and rng.random() < 0.5:
                    image = image[:, ::-1]
                batch.append(image)
            with tf.device(self._b.host):
                labels = np.resize(np.roll(self._labels, -at), len(batch))
                made = tf.convert_to_tensor(np.stack(batch)), tf.convert_to_tensor(labels)
            yield made


def _elements(b: Build, shape: images.Shape, hold: ExitStack) -> Any:
    if b.word("source") == "tfrecord" and b.arm.variant != FROM_MEMORY:
        return b.tf.data.TFRecordDataset(hold.enter_context(images.in_file(b, shape)))
    return b.tf.data.Dataset.from_tensor_slices(hold.enter_context(images.in_memory(b, shape)))


def _options(tf: Any, variant: str) -> Any:
    """Return options that turn off the rewrites with which TensorFlow would change the variant's pipeline.

    TensorFlow would run a map without random ops in parallel, and would add a prefetch of a size chosen by
    AUTOTUNE to a pipeline without a prefetch. The variant as-written already has a prefetch with a fixed
    size.
    """
    if variant not in ("serial", "parallel", "as-written"):
        return None
    options = tf.data.Options()
    rewrites = options.experimental_optimization
    rewrites.map_parallelization = rewrites.inject_prefetch = False
    rewrites.map_and_batch_fusion = variant == "as-written"
    return options


def scaled(tf: Any, images: Any) -> Any:
    return tf.cast(images, tf.float32) / 255.0 if images.dtype == tf.uint8 else images


def augmented_image(tf: Any, kind: str, image: Any) -> Any:
    if kind == NONE:
        return image
    image = tf.image.random_brightness(image, max_delta=BRIGHTNESS)
    return tf.image.random_flip_left_right(image) if kind == FLIPPED else image


def augmented_batch(tf: Any, kind: str, images: Any) -> Any:
    """Return a batch in which each image gets its own random change; random_brightness would change all
    images equally.
    """
    if kind == NONE:
        return images
    images = images + tf.random.uniform(tf.stack([tf.shape(images)[0], 1, 1, 1]), -BRIGHTNESS, BRIGHTNESS)
    return tf.image.random_flip_left_right(images) if kind == FLIPPED else images


def _fill_cache(b: Build, feed: Feed, images: int) -> None:
    batch = b.integer("batch")
    for index in range(-(-images // batch) + 1):
        b.progress("filling the cache", index * batch, images, "images")
        feed.next()


def _report(b: Build, feed: Feed, cost: Burn | None) -> None:
    with b.tf.device(b.device):
        images, _ = feed.start()
    if runs := feed.traced[0]:
        times = "once" if runs == 1 else f"{runs} times"
        b.fact("mapped-python-runs", runs, f"Python ran the mapped function {times}, while tracing it")
    place = observed_family(images)
    b.fact(
        "map-device",
        place,
        f"inside tf.device('{b.arm.device}'), map() produced its images on the {place}",
    )
    b.fact("pipeline-start-s", feed.start_s, f"the pipeline was built in {seconds(feed.start_s)}")
    b.fact(
        "first-batch-s",
        feed.first_s,
        f"the first batch took {seconds(feed.first_s)}, later batches {seconds(feed.drain.element_s)} each",
    )
    if not feed.serial:
        feed.drain.empty()
        feed.drain.rest()
        noun = "batch" if feed.drain.ready == 1 else "batches"
        b.fact("buffer-level", feed.drain.ready, f"{feed.drain.ready} {noun} were ready after a pause")
    if cost is not None:
        b.fact(
            "host-cost-us",
            cost.cost_s * 1e6,
            f"each image costs the host {cost.cost_s * 1e6:.0f} µs of processor time, as measured",
        )
