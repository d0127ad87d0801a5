"""Recognizes `tf.data` pipelines and the training that they feed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tuilab.documents.example import Example
from tuilab.documents.interpreter.items import first_side
from tuilab.documents.interpreter.trace import Trace, TraceEvent
from tuilab.documents.interpreter.values import (
    NONE,
    Dataset,
    Instance,
    Known,
    Layer,
    Listing,
    Mapping,
    Model,
    Step,
    Tensor,
    Value,
    integer,
)
from tuilab.documents.recognise.found import Found, Gap, Result, reason, repeats_in_unit
from tuilab.model.parameters import Value as Setting

_BRIGHTNESS = ("random_brightness", "adjust_brightness")
_FLIP = ("random_flip_left_right", "flip_left_right", "random_flip_up_down", "flip_up_down")
_POLICY = "tf.keras.mixed_precision.set_global_policy"
_POLICIES = {"mixed_float16": "mixed_float16", "mixed_bfloat16": "mixed_bfloat16", "float32": "float32"}


@dataclass
class Pipeline:
    """The parameters of an input pipeline.

    missing: properties of the document's pipeline that are unknown or have no parameter.
    """

    parameters: dict[str, Setting] = field(default_factory=dict)
    missing: list[tuple[int, str]] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def pipelines(example: Example) -> Iterator[Result]:
    """Yield the pipelines that a loop or a model's `fit` consumes, and the training that consumes them."""
    seen: list[Dataset] = []
    for event in example.own("iterate", "train"):
        value = event.arguments.get("dataset" if event.kind == "iterate" else "x")
        trained = event.kind == "train" and event.name in ("fit", "train_on_batch", "fit_generator")
        if isinstance(value, Dataset):
            measured = trained or example.timed(event) or any(step.name == "map" for step in value.steps)
            if not measured or any(value is known for known in seen):
                continue
            seen.append(value)
            yield from _from_dataset(example, event, value, trained)
        elif trained:
            yield from _from_arrays(example, event, value)
        elif event.kind == "train":
            yield Gap(event.line, f"no workload measures {event.name}(); measure it as your own function")


def _from_dataset(example: Example, event: TraceEvent, dataset: Dataset, trained: bool) -> Iterator[Result]:
    pipeline = describe(example.trace, dataset)
    yield from (Gap(line, why) for line, why in pipeline.notes)
    if pipeline.missing:
        yield from (Gap(line, why) for line, why in pipeline.missing)
        return
    pipeline.lines.add(event.line)
    mapped = any(step.name == "map" for step in dataset.steps)
    model = event.arguments.get("self") if trained else trained_by_hand(example)
    if trained or model is not None:
        yield from _training(example, event, pipeline, model)
    elif example.placeholder(event.line):
        # A comment says that an unnamed model is trained here, so use the workload's own model.
        yield Found("training", dict(pipeline.parameters), event.line, set(pipeline.lines))
    if mapped or not trained:
        yield Found("input_pipeline", dict(pipeline.parameters), event.line, set(pipeline.lines))


def trained_by_hand(example: Example) -> Value | None:
    if not any(event.name.startswith("tf.GradientTape.") for event in example.events):
        return None
    called = (e.arguments.get("self") for e in example.own("op") if e.name == "tf.keras.Model")
    return next(called, None)


def describe(trace: Trace, dataset: Dataset) -> Pipeline:
    out = Pipeline(lines={step.line for step in dataset.steps})
    source = dataset.steps[0]
    _source(trace, source, out)
    image = _image(trace, dataset, out)
    if image is not None:
        out.parameters["side"] = image
    batch = next((s for s in dataset.steps if s.name in ("batch", "padded_batch")), None)
    size = integer(batch.arguments.get("batch_size")) if batch is not None else 1
    if size is None:
        out.missing.append(
            (dataset.line, f"the batch size: {reason(batch.arguments.get('batch_size') if batch else None)}")
        )
    else:
        out.parameters["batch"] = size
    _describe_mapped(trace, dataset, out)
    workers = integer(_parallel_calls(dataset))
    if workers is not None and workers > 0:
        out.parameters["workers"] = workers
    return out


def _parallel_calls(dataset: Dataset) -> Value | None:
    maps = (step for step in dataset.steps if step.name == "map")
    given = (step.arguments.get("num_parallel_calls", NONE) for step in maps)
    return next((value for value in given if value != NONE), None)


def _source(trace: Trace, source: Step, out: Pipeline) -> None:
    if source.name in ("from_tensor_slices", "from_tensors"):
        out.parameters["source"] = "memory"
        count = first_side(source.arguments.get("tensors"))
        if count is None:
            out.missing.append((source.line, "the number of images: the shape of the data is unknown"))
        else:
            out.parameters["images"] = count
    elif source.name == "TFRecordDataset":
        out.parameters["source"] = "tfrecord"
        written = (e for e in trace.events if e.name == "tf.train.Example")
        counts = [repeats_in_unit(trace, e, timers=True) for e in written]
        if counts and counts[0] is not None:
            out.parameters["images"] = counts[0]
        else:
            out.missing.append((source.line, "the number of records: the document does not write the file"))
    else:
        out.missing.append(
            (
                source.line,
                f"no workload reads from {source.name}; workloads read images from memory or TFRecord",
            )
        )


def _image(trace: Trace, dataset: Dataset, out: Pipeline) -> int | None:
    """Return the side length of the data set's square RGB images, and set `out`'s pixel type; None for other
    data.
    """
    rows = _rows(dataset)
    first = rows if isinstance(rows, Tensor) else None
    decoded = next((e for e in mapped_events(trace, dataset) if e.name == "tf.io.decode_raw"), None)
    if decoded is not None and isinstance(decoded.result, Tensor):
        first = Tensor(_decoded_shape(trace, dataset), decoded.result.dtype)
    line = dataset.line
    if first is None or first.shape is None or None in first.shape:
        out.missing.append((line, "the shape of an image is unknown"))
        return None
    shape = first.shape
    if len(shape) != 3 or shape[0] != shape[1] or shape[2] != 3:
        out.missing.append(
            (
                line,
                f"no workload feeds elements of shape {shape}; workloads feed square images with 3 channels",
            )
        )
        return None
    if first.dtype not in ("uint8", "float32"):
        pixels = first.dtype or "pixels of an unknown type"
        out.missing.append((line, f"workloads take uint8 or float32 pixels, not {pixels}"))
        return None
    out.parameters["pixels"] = first.dtype
    return shape[0]


def _rows(dataset: Dataset) -> Value:
    value = dataset.steps[0].arguments.get("tensors", NONE)
    first = value.items[0] if isinstance(value, Listing) and value.items else value
    if isinstance(first, Mapping) and first.items:
        first = next(iter(first.items.values()))
    if isinstance(first, Tensor) and first.shape is not None:
        return Tensor(first.shape[1:], first.dtype)
    return first


def _decoded_shape(trace: Trace, dataset: Dataset) -> tuple[int | None, ...] | None:
    for event in mapped_events(trace, dataset):
        made = event.result
        if event.name in ("tf.reshape", "tf.ensure_shape") and isinstance(made, Tensor) and made.shape:
            return made.shape
    return None


def mapped_events(trace: Trace, dataset: Dataset) -> list[TraceEvent]:
    """Return the events of the pipeline's mapped functions for one element."""
    out = []
    for step in dataset.steps:
        index = step.event + 1
        while index < len(trace.events):
            event = trace.events[index]
            traced = event.place.traced
            inside = traced is not None and traced.by == f"Dataset.{step.name}" and traced.line == step.line
            if not inside and event.kind not in ("host-op", "sleep", "opaque", "sync", "python"):
                break
            out.append(event)
            index += 1
    return out


def _describe_mapped(trace: Trace, dataset: Dataset, out: Pipeline) -> None:
    """Set the parameters in `out` for the host cost per element and for the augmentation of the images."""
    cost, words, others = 0, set(), []
    for event in mapped_events(trace, dataset):
        out.lines.add(event.line)
        word = event.name.rpartition(".")[2]
        if event.name == "time.sleep()":
            seconds = event.arguments.get("secs")
            if isinstance(seconds, Known) and isinstance(seconds.value, int | float):
                cost += round(seconds.value * 1_000_000)
            else:
                out.missing.append((event.line, f"the time per element: {reason(seconds)}"))
        elif word in _BRIGHTNESS:
            words.add("brightness")
        elif word in _FLIP:
            words.add("flip")
        elif word == "convert_image_dtype":
            continue
        elif event.name.startswith("tf.image.") or event.kind in ("opaque", "host-op"):
            others.append((event.line, word))
    out.parameters["host_cost"] = cost
    if "flip" in words or (others and words):
        out.parameters["augment"] = "brightness and flip"
    else:
        out.parameters["augment"] = "brightness" if words or others else "none"
    stands_in = [*others, *([(dataset.line, "a flip alone")] if words == {"flip"} else [])]
    if stands_in:
        line, word = stands_in[0]
        chosen = out.parameters["augment"]
        out.notes.append((line, f"no workload augments images by {word[:60]}; the preset uses {chosen!r}"))


def _training(
    example: Example, event: TraceEvent, pipeline: Pipeline, model: Value | None
) -> Iterator[Result]:
    filters, notes = _filters(example, model, event.line)
    yield from notes
    if filters is None:
        return
    parameters = {**pipeline.parameters, "filters": filters}
    dtype = _policy(example, event)
    if dtype:
        parameters["dtype"] = dtype
    found = Found("training", parameters, event.line, set(pipeline.lines))
    stand_ins = [*(note.reason for note in notes), *(why for _, why in pipeline.notes)]
    found.left_out += [f"{why[:1].upper()}{why[1:]}." for why in stand_ins]
    yield found


def _from_arrays(example: Example, event: TraceEvent, value: Value | None) -> Iterator[Result]:
    """Yield a training workload without an input pipeline for a `fit(x, y)` with arrays."""
    if not isinstance(value, Tensor) or value.shape is None or value.dtype is None:
        yield Gap(event.line, f"training data of {event.name}(): {reason(value)}")
        return
    shape = value.shape
    if len(shape) != 4 or shape[1] != shape[2] or shape[3] != 3 or None in shape:
        yield Gap(event.line, f"training takes square images with 3 channels, not data of shape {shape}")
        return
    # Keras converts float64 input to float32.
    pixels = "float32" if value.dtype == "float64" else value.dtype
    size = event.arguments.get("batch_size", NONE)
    batch = 32 if size == NONE else integer(size)
    if batch is None or pixels not in ("uint8", "float32"):
        yield Gap(
            event.line,
            "the batch size or pixel type of fit() is unknown or unsupported",
        )
        return
    pipeline = Pipeline(
        {
            "images": shape[0] or 0,
            "side": shape[1] or 0,
            "pixels": pixels,
            "batch": batch,
            "host_cost": 0,
            "augment": "none",
            "source": "memory",
        },
        lines={event.line},
    )
    yield from _training(example, event, pipeline, event.arguments.get("self"))


def _filters(example: Example, model: Value | None, line: int) -> tuple[int | None, list[Gap]]:
    """Return the number of filters in the model's first convolution, and a gap if the model differs from the
    workload's model in any other way.
    """
    layers = [v for v in model.layers if isinstance(v, Layer)] if isinstance(model, Model) else []
    if isinstance(model, Instance):
        layers = [v for v in model.attributes.values() if isinstance(v, Layer)]
    convolutions = [layer for layer in layers if layer.name == "Conv2D"]
    if not convolutions:
        why = "the model's layers are unknown" if not layers else "the model has no Conv2D"
        return None, [
            Gap(
                line,
                f"the workload measures a small CNN: {why}; measure your model as your own function",
            )
        ]
    filters = integer(convolutions[0].arguments.get("filters"))
    if filters is None:
        return None, [Gap(convolutions[0].line, "the filters of Conv2D are unknown")]
    if len(convolutions) > 1:
        text = f"the workload's model has one Conv2D, not {len(convolutions)}; the preset uses the first"
        return filters, [Gap(convolutions[1].line, text)]
    return filters, []


def _policy(example: Example, event: TraceEvent) -> str:
    for earlier in reversed(example.trace.events[: event.index]):
        if earlier.name == _POLICY:
            value = earlier.arguments.get("policy")
            return _POLICIES.get(str(value.value), "") if isinstance(value, Known) else ""
    return ""
