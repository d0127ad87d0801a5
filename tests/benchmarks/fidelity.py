"""Compares tuilab's figures with hand-written scripts that do the same work.

  python -m tests.benchmarks --only fidelity

Each scenario is built by tuilab and also written by hand with TensorFlow only, as a user would write it. A
round has two short blocks of each, in the order lab, hand, hand, lab or the reverse, at random, so that a
change of the machine's speed affects both equally. The figure is the median of the rounds' ratios. Rounds
continue until its interval is within 3%, or for 40 s. tuilab's stopwatch times tuilab's blocks; the script's
own loop times the script's blocks. The budget is met if the ratio is within 10% of 1, and missed if its whole
interval is outside; if the noise is too large to decide, there is no result. The first sixteen scenarios are
the articles' examples, as their authors meant to run them.
"""

import gc
import random
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tests.benchmarks.budget import Row
from tuilab.analysis.statistics import MIN_SAMPLES, estimate
from tuilab.model.arms import Arm, Mode
from tuilab.model.parameters import Value, check_values
from tuilab.worker.build import ArmBuild
from tuilab.worker.context import Context
from tuilab.worker.measure.bench import TimedArm
from tuilab.worker.measure.stopwatch import LEAD_IN_FROM, Stopwatch
from tuilab.worker.measure.warmup import warm_up
from tuilab.workloads import find
from tuilab.workloads.base import Workload
from tuilab.workloads.parts import feed
from tuilab.workloads.parts.burn import burn

LIMIT = 0.10
LEAST_ROUNDS, WHOLE_S, PRECISE = 15, 40.0, 0.03
BLOCK_S = 0.01
HOST = "/CPU:0"

Script = Callable[[Any, dict[str, Any]], Callable[[], object]]


@dataclass(frozen=True)
class Scenario:
    """A request to tuilab, and the same work written by hand.

    script: takes TensorFlow and the values, and returns a function that makes one call.
    """

    name: str
    workload: str
    variant: str
    mode: Mode
    script: Script
    values: dict[str, Value] = field(default_factory=dict)
    input: str = "resident"
    example: str = ""


def stft(tf: Any, v: dict[str, Any], mode: Mode = "eager", copied: bool = False) -> Callable[[], object]:
    signal = np.random.default_rng(0).standard_normal((v["batch"], v["samples"])).astype(np.float32)
    taps = tf.constant([0.1, 0.2, 0.3, 0.2, 0.1])
    window = {"hann": tf.signal.hann_window, "hamming": tf.signal.hamming_window, "none": None}[v["window"]]

    def body(x: Any) -> Any:
        if v["filter"]:
            x = tf.squeeze(tf.nn.conv1d(x[..., tf.newaxis], taps[:, None, None], 1, "SAME"), -1)
        return tf.signal.stft(
            x,
            frame_length=v["frame_length"],
            frame_step=v["frame_step"],
            fft_length=v["fft_length"],
            window_fn=window,
            pad_end=v["pad_end"],
        )

    run = in_mode(tf, body, mode)
    x = tf.constant(signal)
    if copied:
        return lambda: run(tf.constant(signal)).numpy()
    return lambda: run(x)


def in_mode(tf: Any, body: Callable[..., Any], mode: Mode) -> Callable[..., Any]:
    if mode == "eager":
        return body
    return tf.function(body, jit_compile=True) if mode == "xla" else tf.function(body)  # type: ignore[no-any-return]


def matmul(tf: Any, v: dict[str, Any], mode: Mode = "graph") -> Callable[[], object]:
    rng = np.random.default_rng(0)
    a = tf.cast(tf.constant(rng.standard_normal((v["m"], v["k"]))), v["dtype"])
    b = tf.cast(tf.constant(rng.standard_normal((v["k"], v["n"]))), v["dtype"])
    run = in_mode(tf, tf.matmul, mode)
    return lambda: run(a, b)


def sums(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
    a, b = tf.random.normal((v["side"],) * 2), tf.random.normal((v["side"],) * 2)

    def loop() -> None:
        for _ in range(v["ops"]):
            c = a + b  # noqa: F841

    return loop


def products(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((v["side"],) * 2))[0].astype(np.float32)
    a, b = tf.constant(q), tf.constant(q)

    def loop() -> None:
        for _ in range(v["ops"]):
            c = tf.matmul(a, b)  # noqa: F841

    return loop


def chain(tf: Any, v: dict[str, Any], mode: Mode = "graph") -> Callable[[], object]:
    x, y = (tf.random.uniform((v["side"],) * 2, -0.9, 0.9) for _ in range(2))

    def body(x: Any, y: Any) -> Any:
        for i in range(v["ops"]):
            x = x + y if i % 2 else x * y
        return x

    run = in_mode(tf, body, mode)
    return lambda: run(x, y)


def pinned(tf: Any, v: dict[str, Any], mode: Mode = "eager") -> Callable[[], object]:
    side = v["side"]
    a, b = tf.random.normal((side, side)), tf.random.normal((side, side)) * 1e-3
    f = tf.constant(np.eye(side, dtype=np.float32)[np.random.default_rng(0).permutation(side)])
    places = {i * v["length"] // v["detours"] for i in range(v["detours"])}

    def body(a: Any, b: Any, f: Any) -> Any:
        for i in range(v["length"]):
            if i in places:
                with tf.device(HOST):
                    a = tf.add(a, b)
            a = tf.matmul(a, f)
        return a

    run = in_mode(tf, body, mode)
    return lambda: run(a, b, f)


def allocate(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
    return lambda: [tf.random.normal((v["step"] // 4,)) for _ in range(v["bytes"] // v["step"])]


def compress(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
    data = np.random.default_rng(0).random((v["elements"],), dtype=np.float32)
    tensor = tf.constant(data)
    return lambda: tf.constant(np.frombuffer(zlib.compress(np.array(tensor), v["level"]), np.uint8))


def inflate(tf: Any, v: dict[str, Any]) -> Callable[[], object]:
    packed = tf.constant(
        zlib.compress(np.random.default_rng(0).random(v["elements"], np.float32), v["level"])
    )
    run = tf.function(lambda z: tf.io.decode_raw(tf.io.decode_compressed(z, "ZLIB"), tf.float32))
    return lambda: run(packed)


def quantise(tf: Any, v: dict[str, Any], mode: Mode = "graph") -> Callable[[], object]:
    x = tf.constant(np.random.default_rng(0).random((v["elements"] // v["block"], v["block"]), np.float32))

    def body(x: Any) -> Any:
        low, high = tf.reduce_min(x, 1, keepdims=True), tf.reduce_max(x, 1, keepdims=True)
        step = (high - low) / 255
        return tf.cast(tf.round(tf.math.divide_no_nan(x - low, step)), tf.uint8), low, step

    run = in_mode(tf, body, mode)
    return lambda: run(x)


def copies(tf: Any, v: dict[str, Any], pieces: int, mode: Mode) -> Callable[[], object]:
    parts = [tf.constant(np.zeros(v["bytes"] // pieces, np.uint8)) for _ in range(pieces)]
    run = in_mode(tf, lambda *given: [tf.raw_ops.DeepCopy(x=t) for t in given], mode)
    return lambda: run(*parts)


def augment(tf: Any, kind: str, image: Any, delta: float) -> Any:
    if kind != "none":
        image = tf.image.random_brightness(image, max_delta=delta)
    return tf.image.random_flip_left_right(image) if kind == "brightness and flip" else image


_burn_once = cache(burn)


def dataset(tf: Any, v: dict[str, Any], how: str) -> Any:
    """Build one of the articles' pipelines. how: the pipeline's variant, or `tfrecord`."""
    cost = _burn_once(tf, v["host_cost"])
    rng = np.random.default_rng(0)
    shape, count = (v["side"], v["side"], 3), v["images"]
    if v["pixels"] == "uint8":
        images = rng.integers(0, 256, (count, *shape), np.uint8)
    else:
        images = rng.random((count, *shape), np.float32)
    labels = rng.integers(0, 10, count).astype(np.int32)

    def prepare(image: Any, label: Any) -> Any:
        if cost is not None:
            data = tf.io.decode_compressed(cost.blocks, "ZLIB")
            image += tf.cast(tf.reduce_sum(tf.strings.length(data)) - cost.inflated, image.dtype)
        if v["pixels"] == "uint8":
            image = tf.cast(image, tf.float32) / 255.0
        return augment(tf, v["augment"], image, 0.2), label

    def parse(record: Any) -> Any:
        features = {
            "image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        }
        example = tf.io.parse_single_example(record, features)
        image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), shape)
        image, _ = prepare(image, 0)
        return image, tf.cast(example["label"], tf.int32)

    if v["source"] == "tfrecord":
        data = tf.data.TFRecordDataset(_written(tf, images, labels)).repeat()
        return (
            data.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(v["batch"]).prefetch(tf.data.AUTOTUNE)
        )
    data = tf.data.Dataset.from_tensor_slices((images, labels)).repeat()
    if how == "cached":
        still = tf.data.Dataset.from_tensor_slices((images, labels))
        scale = lambda image, label: (tf.cast(image, tf.float32) / 255.0, label)  # noqa: E731
        data = still.map(scale, num_parallel_calls=tf.data.AUTOTUNE).cache().repeat()
        data = data.map(
            lambda image, label: (augment(tf, v["augment"], image, 0.2), label),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        return data.batch(v["batch"]).prefetch(tf.data.AUTOTUNE)
    if how == "serial":
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        return data.map(prepare).batch(v["batch"]).with_options(options)
    if how == "as-written":
        return data.map(prepare).batch(v["batch"])
    return data.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(v["batch"]).prefetch(tf.data.AUTOTUNE)


def _written(tf: Any, images: Any, labels: Any) -> str:
    import tempfile

    train = tf.train
    path = tempfile.mkstemp(suffix=".tfrecord")[1]
    with tf.io.TFRecordWriter(path) as writer:
        for image, label in zip(images, labels, strict=True):
            feature = {
                "image": train.Feature(bytes_list=train.BytesList(value=[image.tobytes()])),
                "label": train.Feature(int64_list=train.Int64List(value=[int(label)])),
            }
            writer.write(train.Example(features=train.Features(feature=feature)).SerializeToString())
    return path


class Loop:
    """A loop over a dataset, such as `for images, labels in dataset`, that restarts in each block.

    If the loop continued, an AUTOTUNE prefetch would accumulate batches between blocks.
    """

    SKIPPED, SKIPPED_S = 12, 0.3

    def __init__(self, data: Any, step: Callable[..., object]) -> None:
        self._data, self._step, self._iterator = data, step, None

    def start(self) -> None:
        self._iterator, begun, drawn = iter(self._data), time.perf_counter(), 0
        while drawn < self.SKIPPED or time.perf_counter() - begun < self.SKIPPED_S:
            self()
            drawn += 1

    def stop(self) -> None:
        self._iterator = None

    def __call__(self) -> object:
        assert self._iterator is not None
        return self._step(*next(self._iterator))


def pipeline(tf: Any, v: dict[str, Any], how: str) -> Callable[[], object]:
    return Loop(dataset(tf, v, how), lambda images, labels: images)


def training(tf: Any, v: dict[str, Any], how: str, mode: Mode = "graph") -> Callable[[], object]:
    keras, side = tf.keras, v["side"]
    if v["dtype"] != "float32":
        keras.mixed_precision.set_global_policy(v["dtype"])
    model = keras.models.Sequential(
        [
            keras.layers.Input((side, side, 3)),
            keras.layers.Conv2D(v["filters"], (3, 3), activation="relu"),
            keras.layers.MaxPooling2D((2, 2)),
            keras.layers.Flatten(),
            keras.layers.Dense(10),
            keras.layers.Activation("softmax", dtype="float32"),
        ]
    )
    keras.mixed_precision.set_global_policy("float32")
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.train_on_batch(np.zeros((1, side, side, 3), np.float32), np.zeros((1,), np.int32))
    step = in_mode(tf, lambda images, labels: model.train_step((images, labels)), mode)
    if how == "resident":
        rng = np.random.default_rng(0)
        images = tf.constant(rng.random((v["batch"], side, side, 3), np.float32))
        labels = tf.constant(rng.integers(0, 10, v["batch"]).astype(np.int32))
        return lambda: step(images, labels)
    return Loop(dataset(tf, v, how), step)


SMALL = {"images": 256, "side": 64, "pixels": "float32", "batch": 32, "augment": "brightness", "host_cost": 0}
LARGE = {"images": 96, "side": 256, "pixels": "uint8", "batch": 32, "host_cost": 0}
FED = {"augment": "brightness and flip", **LARGE}


def _fed(how: str, workload: str = "input_pipeline", mode: Mode = "graph") -> Script:
    if workload == "training":
        return lambda tf, v: training(tf, v, how, mode)
    return lambda tf, v: pipeline(tf, v, how)


S256 = {"samples": 256, "frame_length": 256, "frame_step": 128, "fft_length": 256}
S4096 = {"samples": 4_096, "frame_length": 512, "frame_step": 256, "fft_length": 512}
FILTERED = {"samples": 10_240, "frame_length": 512, "frame_step": 256, "fft_length": 512, "filter": True}
HAMMING = {**S4096, "samples": 65_536, "window": "hamming", "pad_end": True}

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("STFT of 256 samples, eager", "stft", "whole", "eager", stft, S256, example="000/1"),
    Scenario("STFT of 4,096 samples, eager", "stft", "whole", "eager", stft, S4096, example="000/2"),
    Scenario("filter and STFT, eager", "stft", "whole", "eager", stft, FILTERED, example="000/3"),
    Scenario("slow map, training", "training", "as-written", "graph", _fed("as-written", "training"),
             {**SMALL, "host_cost": 1_000, "filters": 32}, example="001/1"),
    Scenario("parallel map, training", "training", "prefetched", "graph", _fed("prefetched", "training"),
             {**SMALL, "filters": 32}, example="001/2"),
    Scenario("a + b, 10 × 10", "elementwise", "add", "eager", sums, {"side": 10, "ops": 200}, example="001/3"),
    Scenario("matmul, 10 × 10", "elementwise", "matmul", "eager", products, {"side": 10, "ops": 200},
             example="001/3"),
    Scenario("float64 product, 2 × 2", "matmul", "plain", "eager", lambda tf, v: matmul(tf, v, "eager"),
             {"m": 2, "k": 2, "n": 2, "dtype": "float64"}, example="002/1"),
    Scenario("a large tensor", "memory", "free", "eager", allocate,
             {"bytes": 2**25, "step": 2**25, "provoke": False}, example="002/2"),
    Scenario("pinned addition, 2 × 2", "pingpong", "pinned", "eager", pinned,
             {"side": 2, "length": 1, "detours": 1}, example="002/3"),
    Scenario("zlib, 100,000 values", "compression", "zlib", "eager", compress, {"elements": 100_032, "level": 6},
             example="003/1"),
    Scenario("quantizing, graph", "compression", "quantise", "graph", quantise,
             {"elements": 640_000, "block": 64, "bits": "8"}, example="003/2"),
    Scenario("allocating 64 MiB", "memory", "free", "eager", allocate,
             {"bytes": 2**26, "step": 2**24, "provoke": False}, example="003/3"),
    Scenario("serial augmentation", "input_pipeline", "as-written", "graph", _fed("as-written"), FED,
             example="004/1"),
    Scenario("parallel augmentation", "input_pipeline", "prefetched", "graph", _fed("prefetched"), FED,
             example="004/2"),
    Scenario("TFRecord", "input_pipeline", "prefetched", "graph", _fed("prefetched"),
             {**FED, "source": "tfrecord"}, example="004/3"),
    Scenario("STFT of 256 samples, graph", "stft", "whole", "graph", lambda t, v: stft(t, v, "graph"), S256),
    Scenario("STFT of 4,096 samples, XLA", "stft", "whole", "xla", lambda t, v: stft(t, v, "xla"), S4096),
    Scenario("STFT of 8 × 65,536, Hamming, padded", "stft", "whole", "graph",
             lambda t, v: stft(t, v, "graph"), {**HAMMING, "batch": 8}),
    Scenario("filter and STFT of 200,000, graph", "stft", "whole", "graph", lambda t, v: stft(t, v, "graph"),
             {**FILTERED, "samples": 200_000}),
    Scenario("STFT of 30,000 samples, copied", "stft", "whole", "graph",
             lambda t, v: stft(t, v, "graph", True), {**S4096, "samples": 30_000}, "copied"),
    Scenario("product 700 × 300 × 500", "matmul", "plain", "graph", matmul, {"m": 700, "k": 300, "n": 500}),
    Scenario("product 1,500, float64", "matmul", "plain", "graph", matmul,
             {"m": 1_500, "k": 1_500, "n": 1_500, "dtype": "float64"}),
    Scenario("product 400, bfloat16", "matmul", "plain", "graph", matmul,
             {"m": 400, "k": 400, "n": 400, "dtype": "bfloat16"}),
    Scenario("product 333, XLA", "matmul", "plain", "xla", lambda t, v: matmul(t, v, "xla"),
             {"m": 333, "k": 333, "n": 333}),
    Scenario("chain of 300, graph", "elementwise", "add-multiply", "graph", chain, {"side": 50, "ops": 300}),
    Scenario("chain of 40 on 600 × 600, eager", "elementwise", "add-multiply", "eager",
             lambda t, v: chain(t, v, "eager"), {"side": 600, "ops": 40}),
    Scenario("chain of 64, XLA", "elementwise", "add-multiply", "xla", lambda t, v: chain(t, v, "xla"),
             {"side": 200, "ops": 64}),
    Scenario("8 products, 2 detours", "pingpong", "pinned", "graph", lambda t, v: pinned(t, v, "graph"),
             {"side": 300, "length": 8, "detours": 2}),
    Scenario("16 MiB in one copy", "copies", "block", "graph", lambda t, v: copies(t, v, 1, "graph"),
             {"bytes": 2**24, "pieces": 64}),
    Scenario("4 MiB in 64 copies, eager", "copies", "pieces", "eager", lambda t, v: copies(t, v, 64, "eager"),
             {"bytes": 2**22, "pieces": 64}),
    Scenario("zlib level 1, a million values", "compression", "zlib", "eager", compress,
             {"elements": 1_000_000, "level": 1}),
    Scenario("inflating a million values", "compression", "decode", "graph", inflate,
             {"elements": 1_000_000, "level": 6}),
    Scenario("quantizing, eager", "compression", "quantise", "eager", lambda t, v: quantise(t, v, "eager"),
             {"elements": 64_000, "block": 64, "bits": "8"}),
    Scenario("training, resident", "training", "resident", "graph", _fed("resident", "training"),
             {**SMALL, "side": 48, "filters": 16}),
    Scenario("training, resident, bfloat16", "training", "resident", "graph", _fed("resident", "training"),
             {**SMALL, "side": 48, "filters": 16, "dtype": "mixed_bfloat16"}),
    Scenario("training, resident, XLA", "training", "resident", "xla", _fed("resident", "training", "xla"),
             {**SMALL, "side": 32, "filters": 8}),
    Scenario("training, serial", "training", "serial", "graph", _fed("serial", "training"),
             {**SMALL, "host_cost": 200, "filters": 8}),
    Scenario("pipeline, 300 µs an image, prefetched", "input_pipeline", "prefetched", "graph",
             _fed("prefetched"), {**SMALL, "host_cost": 300}),
    Scenario("pipeline, 300 µs an image, serial", "input_pipeline", "serial", "graph", _fed("serial"),
             {**SMALL, "host_cost": 300}),
    Scenario("pipeline, cached", "input_pipeline", "cached", "graph", _fed("cached"), FED),
)  # fmt: skip


class _Silent:
    def send(self, *events: object) -> None: ...


@dataclass
class Found:
    """The median seconds per call with tuilab and by hand, and the median of the rounds' ratios with its
    95% interval.
    """

    scenario: Scenario
    lab_s: float
    script_s: float
    ratio: float
    low: float
    high: float

    @property
    def met(self) -> bool | None:
        """True if tuilab's figure and the figure by hand agree within 10%; None if the noise is too large to
        decide.
        """
        low, high = 1 / (1 + LIMIT), 1 + LIMIT
        if self.low > high or self.high < low:
            return False
        told = (self.high - self.low) / 2 <= LIMIT
        return True if told and low <= self.ratio <= high else None


def compare(tf: Any, scenario: Scenario, workload: Workload | None = None) -> Found:
    """Measure one scenario with tuilab and by hand. workload: required for a workload that is not part of
    tuilab.
    """
    feed.burn = _burn_once
    workload = workload or find(scenario.workload)
    declaration = workload.declaration
    values = check_values(declaration.parameters, declaration.constraints, scenario.values)
    dtype = str(values[declaration.dtype]) if declaration.dtype else ""
    arm = Arm("CPU:0", scenario.mode, scenario.input, dtype, scenario.variant)  # type: ignore[arg-type]
    context = Context(_Silent())  # type: ignore[arg-type]
    context.tf = tf
    stopwatch = Stopwatch(tf.test.experimental.sync_devices, block_s=BLOCK_S)
    case = workload.build(ArmBuild(context, "run", arm, values))
    timed = TimedArm(arm, 0, case, calls=case.least_calls)
    script = scenario.script(tf, dict(values))
    ratios: list[float] = []
    ours: list[float] = []
    theirs: list[float] = []
    try:
        with case.scope():
            case.call()
            timed.call_s = stopwatch.time(case.call)
        if not isinstance(script, Loop):
            script()
        warm_up(timed, stopwatch, busy_s=0.3, limit_s=2.0, check=lambda: None)
        calls = max(timed.calls, case.least_calls)
        order, begun = random.Random(1), time.perf_counter()
        while not _enough(ratios, time.perf_counter() - begun):
            lab, hand = [], []
            for ours_now in (
                (True, False, False, True) if order.random() < 0.5 else (False, True, True, False)
            ):
                if ours_now:
                    lab.append(stopwatch.visit(case, calls, latency=False)[0] / calls)
                else:
                    hand.append(_by_hand(tf, script, calls))
            ours += lab
            theirs += hand
            ratios.append(sum(lab) / sum(hand))
    finally:
        case.close()
    found = estimate(ratios)
    assert found is not None
    low, high = found.interval or (min(ratios), max(ratios))
    return Found(scenario, statistics.median(ours), statistics.median(theirs), found.median, low, high)


def _enough(ratios: list[float], elapsed_s: float) -> bool:
    if elapsed_s > WHOLE_S and len(ratios) >= MIN_SAMPLES:
        return True
    found = estimate(ratios) if len(ratios) >= LEAST_ROUNDS else None
    return found is not None and (found.relative_half_width or 1.0) < PRECISE


def _by_hand(tf: Any, script: Callable[[], object], calls: int) -> float:
    """Time a block of calls as a script does, after as many untimed calls as tuilab makes."""
    if isinstance(script, Loop):
        script.start()
        calls = max(calls, Loop.SKIPPED)
    elif calls >= LEAD_IN_FROM:
        script()
    gc.disable()
    begun = time.perf_counter()
    for _ in range(calls):
        kept = script()
    tf.test.experimental.sync_devices()
    ended = time.perf_counter()
    gc.enable()
    del kept
    if isinstance(script, Loop):
        script.stop()
    return (ended - begun) / calls


def measure() -> list[Row]:
    import tensorflow as tf

    return rows_of(compare(tf, scenario) for scenario in SCENARIOS)


def rows_of(every: Iterable[Found]) -> list[Row]:
    """Return a row for each measured scenario. Prints each row as soon as it is known."""
    rows = []
    for found in every:
        scenario = found.scenario
        print(
            f"{scenario.name}: {found.ratio:.3f} [{found.low:.3f} {found.high:.3f}]",
            file=sys.stderr,
            flush=True,
        )
        detail = {"lab_s": found.lab_s, "script_s": found.script_s, "interval": [found.low, found.high]}
        which = f"{scenario.example} " if scenario.example else ""
        rows.append(
            Row(
                f"{which}{scenario.name}",
                "1 ± 0.1",
                f"{found.ratio:.3f} [{found.low:.3f} {found.high:.3f}], {found.lab_s * 1e3:.3g} ms a call",
                found.met,
                "the lab's figure over the script's, rounds shared",
                found.ratio,
                1 + LIMIT,
                detail,
            )
        )
    return rows
