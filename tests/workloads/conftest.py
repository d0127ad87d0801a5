"""Workloads built in this process, without a worker. Tests check their results, not their times."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tuilab.model.arms import Arm
from tuilab.model.events import Event, Fact
from tuilab.model.parameters import Value, check_values
from tuilab.worker.build import ArmBuild
from tuilab.worker.context import Context
from tuilab.workloads import find
from tuilab.workloads.base import Case


class Ears:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def send(self, *events: Event) -> None:
        self.events += events


@dataclass
class Made:
    case: Case
    ears: Ears

    @property
    def facts(self) -> dict[str, Any]:
        return {e.name: e.value for e in self.ears.events if isinstance(e, Fact)}

    def call(self) -> Any:
        with self.case.scope():
            return self.case.call()


Make = Callable[..., Made]


def marks(case: Case) -> dict[str, float]:
    spent: dict[str, float] = {}

    @contextmanager
    def mark(name: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        spent[name] = time.perf_counter() - begun

    assert case.marked is not None
    case.marked(mark)
    return spent


@pytest.fixture
def make(tf: Any) -> Iterator[Make]:
    made: list[Made] = []

    def build(
        name: str,
        variant: str = "",
        mode: str = "graph",
        *,
        device: str = "CPU:0",
        input: str = "resident",
        **given: Value,
    ) -> Made:
        workload = find(name)
        declaration = workload.declaration
        values = check_values(declaration.parameters, declaration.constraints, given)
        dtype = str(values[declaration.dtype]) if declaration.dtype else ""
        names = [v.name for v in declaration.variants]
        arm = Arm(device, mode, input, dtype, variant or (names[0] if names else ""))  # type: ignore[arg-type]
        ears = Ears()
        context = Context(ears)  # type: ignore[arg-type]
        context.tf = tf
        case = workload.build(ArmBuild(context, "run", arm, values))
        made.append(Made(case, ears))
        return made[-1]

    yield build
    for each in made:
        each.case.close()
