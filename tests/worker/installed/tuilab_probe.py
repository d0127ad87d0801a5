"""An installed workload for tests, with calls of known length and with every kind of failure."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from tuilab.model.parameters import Integer, Value
from tuilab.model.workload import Declaration, Variant
from tuilab.workloads.base import Build, Case, Unavailable, Workload

DECLARATION = Declaration(
    name="probe",
    title="Probe",
    summary="Spins for a while.",
    unit="spin",
    parameters=(
        Integer(
            name="size",
            label="size",
            help="Microseconds that a growing spin takes.",
            default=100,
            low=1,
            high=10_000,
        ),
        Integer(
            name="memory",
            label="memory",
            help="Megabytes that it claims to need.",
            default=0,
            low=0,
            high=10**9,
        ),
    ),
    modes=("eager",),
    inputs=("resident",),
    variants=tuple(
        Variant(name, "")
        for name in (
            "level",
            "growing",
            "slow",
            "raises",
            "raises-later",
            "refuses",
            "elsewhere",
            "interrupts",
        )
    ),
    axis="size",
)

LEVEL_S, SLOW_S = 300e-6, 0.2


class Broken(ValueError): ...


def spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def build(b: Build) -> Case:
    tf, variant = b.tf, b.arm.variant
    if variant == "refuses":
        raise Unavailable("it does not feel like it")
    seconds = {"growing": b.integer("size") * 1e-6, "slow": SLOW_S}.get(variant, LEVEL_S)
    calls = [0]

    def call() -> Any:
        calls[0] += 1
        if variant == "raises" or (variant == "raises-later" and calls[0] > 100):
            raise Broken("\x1b[31mred\x1b[0m\nand two lines")
        if variant == "interrupts":
            raise SystemExit(3)
        spin(seconds)
        return tf.identity(one)

    with tf.device("/CPU:0" if variant == "elsewhere" else b.device):
        one = tf.identity(tf.ones(()))
    return Case(call=call, scope=scope(tf, "/CPU:0" if variant == "elsewhere" else b.device), compute=call)


def scope(tf: Any, device: str) -> Callable[[], Any]:
    return lambda: tf.device(device)


def memory(values: Mapping[str, Value]) -> int:
    return int(values["memory"]) * 10**6


WORKLOAD = Workload(DECLARATION, build, memory)
