"""Input pipelines: which batches they deliver, when they do their work, and which facts they report."""

import os
import time

import numpy as np
import pytest

from tests.workloads.conftest import marks
from tuilab.model.parameters import defaults
from tuilab.workloads.base import Unavailable
from tuilab.workloads.input_pipeline import DECLARATION
from tuilab.workloads.parts import burn, feed, images

PLAIN = {"images": 40, "side": 8, "batch": 10, "host_cost": 0, "augment": "none"}
VARIANTS = [v.name for v in feed.VARIANTS]
IN_MEMORY = [v for v in VARIANTS if v != feed.FROM_MEMORY]


def pairs(left, right, usual):
    """Return every pair from the two lists as a test parameter.

    All pairs except the usual ones run only in long mode.
    """
    return [
        (a, b) if (a, b) in usual else pytest.param(a, b, marks=pytest.mark.long) for a in left for b in right
    ]


def some_images(pixels="uint8", count=40):
    rng = np.random.default_rng(0)
    made = images._random(images.Shape(count, 8, pixels), rng, count)
    return made.astype(np.float32) / 255 if pixels == "uint8" else made


@pytest.mark.parametrize(
    ("mode", "pixels"),
    pairs(["eager", "graph"], ["uint8", "float32"], {("eager", "uint8"), ("graph", "float32")}),
)
@pytest.mark.parametrize("variant", IN_MEMORY)
def test_every_variant_delivers_the_same_images_in_order_from_the_host(make, variant, mode, pixels):
    made = make("input_pipeline", variant, mode, device="CPU:1", **PLAIN, pixels=pixels)
    if variant != "python-loop":  # this variant does not use `map`
        assert (made.facts["mapped-python-runs"], made.facts["map-device"]) == (1, "CPU")
    want = np.concatenate([some_images(pixels)] * 3)
    with made.case.scope():
        got = np.concatenate([made.case.call()[0].numpy() for _ in range(4)])
    # The number of images drawn before determines which images come first, but not their order.
    start = next(i for i in range(40) if np.allclose(want[i], got[0], atol=1e-6))
    np.testing.assert_allclose(got, want[start : start + 40], atol=1e-6)


@pytest.mark.parametrize(
    ("variant", "source", "why"),
    [("python-loop", "tfrecord", "from memory"), (feed.FROM_MEMORY, "memory", "prefetched")],
)
def test_meaningless_options_of_a_source_say_why(make, variant, source, why):
    with pytest.raises(Unavailable, match=why):
        make("input_pipeline", variant, **PLAIN, source=source)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "python-loop"])
def test_a_record_file_holds_the_same_kind_of_images_and_leaves_nothing_behind(
    make, variant, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = make("input_pipeline", variant, **PLAIN, source="tfrecord")
    received, labels = made.call()
    assert received.shape == (10, 8, 8, 3) and received.dtype == "float32"
    assert 0 <= float(received.numpy().min()) <= float(received.numpy().max()) <= 1
    assert set(labels.numpy()) <= set(range(10))
    made.case.close()
    assert not list(tmp_path.glob("*.tfrecord"))


def test_a_record_is_read_back_unchanged(tf):
    pixels = some_images("float32", 1)[0]
    record = images._record(tf, pixels.tobytes(), 7)
    image, label = images.parse(tf, images.Shape(1, 8, "float32"), tf.constant(record))
    np.testing.assert_array_equal(image.numpy(), pixels)
    assert int(label) == 7


@pytest.mark.parametrize("variant", IN_MEMORY)
def test_augmentation_changes_images_within_its_bounds(make, variant):
    values = PLAIN | {"augment": "brightness and flip"}
    received, _ = make("input_pipeline", variant, **values).call()
    got, sources = received.numpy(), some_images()
    flipped = sources[:, :, ::-1]
    shifts, swapped = [], 0
    for image in got:
        errors = [(np.ptp(image - other), np.mean(image - other), i >= 40)
                  for i, other in enumerate([*sources, *flipped])]  # fmt: skip
        spread, shift, was_flipped = min(errors)
        assert spread < 1e-5, "every image is a shifted source image"
        shifts.append(shift)
        swapped += was_flipped
    assert max(map(abs, shifts)) <= feed.BRIGHTNESS + 1e-6
    assert len({round(float(s), 6) for s in shifts}) > 5, "each image gets its own brightness"


def test_the_host_cost_grows_as_requested_and_changes_no_image(tf):
    assert burn.burn(tf, 0) is None
    small, large = burn.burn(tf, 200), burn.burn(tf, 5_000)
    # The time per byte depends on the machine's load, but the number of inflated bytes only on the request.
    assert 0 < 2 * int(small.inflated) < int(large.inflated)
    assert 0 < small.cost_s < large.cost_s
    image = tf.random.uniform((4, 4, 3))
    np.testing.assert_array_equal(tf.function(lambda x: large.apply(tf, x))(image).numpy(), image.numpy())


def test_the_host_cost_is_work_that_the_optimiser_does_not_drop(make):
    values = PLAIN | {"host_cost": 5_000}
    made = make("input_pipeline", "serial", **values)
    begun = time.process_time()
    made.call()
    spent = time.process_time() - begun
    assert spent > 0.2 * values["batch"] * made.facts["host-cost-us"] * 1e-6


@pytest.fixture
def counted(tf, monkeypatch):
    """Count the images mapped and the batches drawn so far."""
    mapped, drawn = [0], [0]

    def count(image):
        mapped[0] += 1
        return image

    class Counting(burn.Burn):
        def apply(self, tf, value):
            image = tf.numpy_function(count, [super().apply(tf, value)], value.dtype)
            image.set_shape(value.shape)
            return image

    def draw(self, next=feed.Feed.next):
        drawn[0] += 1
        return next(self)

    made = burn.burn(tf, 2_000)
    monkeypatch.setattr(feed, "burn", lambda *_: Counting(made.blocks, made.inflated, made.cost_s))
    monkeypatch.setattr(feed.Feed, "next", draw)
    return lambda: (mapped[0], drawn[0])


def settled(counted, limit_s=60.0):
    begun, before = time.monotonic(), None
    while (now := counted()) != before:
        assert time.monotonic() - begun < limit_s, "it never rests"
        before = now
        time.sleep(0.3)
    return now


@pytest.mark.parametrize("variant", ["serial", "as-written", "prefetched", "in-step"])
def test_only_the_serial_pipeline_stops_with_consumption_and_all_stop_after_a_block(make, counted, variant):
    batch = PLAIN["batch"]
    case = make("input_pipeline", variant, **(PLAIN | {"host_cost": 2_000})).case
    begun = counted()
    with case.scope():
        case.call()
        mapped, drawn = (now - before for now, before in zip(settled(counted), begun, strict=True))
        assert drawn > 0
        if variant == "serial":
            assert mapped == drawn * batch
        else:
            assert mapped > drawn * batch, "it works ahead"
    most = (drawn + 2 * feed.PREFETCH + 4) * batch + 4 * (os.cpu_count() or 1)
    assert settled(counted)[0] - begun[0] < most, "its buffers are limited"


def test_the_slider_reaches_the_sizes_of_the_document():
    images_ = DECLARATION.parameter("images")
    assert images_.low <= 10_000 <= images_.high
    values = defaults(DECLARATION.parameters) | {"images": 10_000, "side": 64, "pixels": "float32"}
    assert feed.memory(values) > 2 * 491_520_000


MODES = ["eager", "graph", "xla"]


@pytest.mark.parametrize(
    ("mode", "dtype"),
    pairs(
        MODES,
        ["float32", "mixed_float16", "mixed_bfloat16"],
        {
            ("eager", "mixed_float16"),
            ("graph", "float32"),
            ("graph", "mixed_bfloat16"),
            ("xla", "mixed_float16"),
        },
    ),
)
def test_a_step_trains(make, mode, dtype):
    made = make("training", "resident", mode, side=8, batch=16, filters=4, dtype=dtype)
    losses = [float(made.call()["loss"]) for _ in range(30)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    ("mode", "variant"),
    pairs(
        MODES,
        ["serial", "cached", "in-step"],
        {("eager", "cached"), ("graph", "serial"), ("graph", "in-step"), ("xla", "in-step")},
    ),
)
def test_a_fed_step_trains_and_marks_its_wait(make, mode, variant):
    values = PLAIN | {"filters": 4, "augment": "brightness and flip"}
    made = make("training", variant, mode, **values)
    assert np.isfinite(float(made.call()["loss"]))
    with made.case.scope():
        spent = marks(made.case)
    assert list(spent) == ["input_wait"] and made.case.drained == (variant != "serial")


def test_a_slow_serial_map_makes_a_step_wait(make):
    values = PLAIN | {"filters": 4, "host_cost": 5_000}
    made = make("training", "serial", **values)
    made.call()
    with made.case.scope():
        begun = time.perf_counter()
        wait = marks(made.case)["input_wait"]
        whole = time.perf_counter() - begun
    assert wait > 0.3 * values["batch"] * made.facts["host-cost-us"] * 1e-6
    assert wait > 0.5 * whole
