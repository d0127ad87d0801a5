"""Batches from an input pipeline to the device, without a model: what the pipeline alone can deliver."""

from collections.abc import Mapping
from typing import Any

from tuilab.model.arms import Arm
from tuilab.model.parameters import Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration
from tuilab.workloads import _feed, _images
from tuilab.workloads._device import moved, short
from tuilab.workloads._drain import LEAST_CALLS
from tuilab.workloads.base import Build, Case, Workload

DECLARATION = Declaration(
    name="input_pipeline",
    title="Input pipeline",
    summary="Images prepared on the host and passed to the device, one batch per call.",
    unit="batch",
    parameters=_feed.PARAMETERS,
    modes=("eager", "graph"),
    inputs=("resident",),
    variants=_feed.VARIANTS,
    axis="host_cost",
)


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    """A batch handed over, and what its preparation costs the host."""
    image = int(values["side"]) ** 2 * _images.CHANNELS * 4
    batch = int(values["batch"]) * image
    return _feed.fed(Work(inputs=batch, outputs=batch), values, arm)


def build(b: Build) -> Case:
    """One batch drawn, brought to the device, and prepared there where the variant says so."""
    feed = _feed.open_feed(b)

    prepared = b.compiled(feed.prepare) if b.arm.variant == "in-step" else None

    def received(*batch: Any) -> Any:
        # Copied by name: an identity inside a graph is optimised away, and the batch stays on the host.
        images, labels = (moved(b.tf, part, b.device) for part in batch)
        return prepared(images) if prepared else images, labels

    def call() -> Any:
        return received(*feed.next())

    images = moved(b.tf, feed.next()[0], b.device)
    return Case(
        call=call,
        scope=lambda: feed.running(b.tf.device(b.device), call),
        marked=lambda mark: received(*feed.marked(mark)),
        device=short(images.backing_device),
        copies=prepared is None,
        function=prepared,
        arguments=(images,) if prepared else (),
        datasets=feed.datasets,
        drained=not feed.serial,
        least_calls=1 if feed.serial else LEAST_CALLS,
        close=feed.close,
    )


WORKLOAD = Workload(DECLARATION, build, _feed.memory, work)
