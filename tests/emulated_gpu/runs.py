"""Measures arms on a worker with emulated GPUs, with a short budget."""

import uuid
from collections.abc import Callable
from typing import TypeVar

from tests.conftest import Worker, fold
from tuilab.model import events, requests
from tuilab.model.arms import Arm
from tuilab.model.events import Event
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget, Scenario

SHORT = Budget(name="quick", warm_s=0.01, warm_limit_s=0.05, precision=9.0, rounds=6, limit_s=20.0)


TRIES = 6
T = TypeVar("T")


def repeat(attempt: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """Repeat a measurement until it passes the check, because a busy host may disturb it. Returns the last
    result.
    """
    found = attempt()
    for _ in range(TRIES - 1):
        if wanted(found):
            break
        found = attempt()
    return found


def request(workload: str, *arms: Arm, parameters: dict | None = None, **more: object) -> requests.Measure:
    more = {"budget": SHORT, "phases": False, "placement": False, **more}
    return requests.Measure(
        id=uuid.uuid4().hex, scenario=Scenario(workload, parameters or {}), arms=arms, **more
    )


def measure(worker: Worker, workload: str, *arms: Arm, **more: object) -> tuple[list[Event], RunState]:
    seen = worker.measure(request(workload, *arms, **more))
    return seen, fold(seen)


def of(seen: list[Event], kind: type) -> list:
    return [event for event in seen if isinstance(event, kind)]


def caveats(seen: list[Event], code: str) -> list[str]:
    return [event.message for event in of(seen, events.Caveat) if event.code == code]
