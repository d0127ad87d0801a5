"""Measures the rate of an input pipeline alone: batches to the device, without a model."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.parameters import Value
from tuilab.model.roofline import Work
from tuilab.model.workload import Declaration
from tuilab.workloads.base import Build, Case, Workload
from tuilab.workloads.parts import feed, images
from tuilab.workloads.parts.device import move_to, short

DECLARATION = Declaration(
    name="input_pipeline",
    title="Input pipeline",
    summary="Images prepared on the host and passed to the device, one batch per call.",
    unit="batch",
    parameters=feed.PARAMETERS,
    modes=("eager", "graph"),
    inputs=("resident",),
    variants=feed.VARIANTS,
    axis="host_cost",
)


def work(values: Mapping[str, Value], arm: Arm) -> Work:
    image = int(values["side"]) ** 2 * images.CHANNELS * 4
    batch = int(values["batch"]) * image
    fed = feed.fed(Work(inputs=batch, outputs=batch), values, arm)
    return msgspec.structs.replace(fed, host_feeds=arm.variant != "in-step")


def build(b: Build) -> Case:
    fed = feed.open_feed(b)

    prepared = b.compiled(fed.prepare) if b.arm.variant == "in-step" else None

    def received(*batch: Any) -> Any:
        # Copy explicitly, because an identity in a graph is optimized away and the batch would stay on the
        # host.
        images, labels = (move_to(b.tf, part, b.device) for part in batch)
        return prepared(images) if prepared else images, labels

    images = move_to(b.tf, fed.next()[0], b.device)
    return fed.case(
        b,
        received,
        device=short(images.backing_device),
        copies=prepared is None,
        function=prepared,
        arguments=(images,) if prepared else (),
    )


WORKLOAD = Workload(DECLARATION, build, feed.memory, work)
