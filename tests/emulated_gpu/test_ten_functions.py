"""Ten functions, each with one slow part. The account shows this part as the largest one, and the advice is
about it.
"""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Worker, fold
from tests.contradictions.collected import contradictions
from tests.emulated_gpu.runs import SHORT, repeat
from tests.emulated_gpu.sentences import untrue
from tuilab.analysis.account import largest
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm
from tuilab.model.requests import Measure
from tuilab.model.scenario import Scenario

pytestmark = [pytest.mark.real_worker, pytest.mark.long, pytest.mark.timeout(300)]

KERNEL_S, HOST_S, LINK = 5e-3, 20e-3, 0.1e9
"""Seconds per kernel, seconds of the op with a known speed on the host, and bytes per second of the link."""
PACED = Path(__file__).with_name("paced.py")
GRAPH, EAGER = Arm("GPU:0", "graph", "resident"), Arm("GPU:0", "eager", "resident")
COPIED = Arm("GPU:0", "graph", "copied")
ABOUT_PARTS = {"stalled", "copy-bound", "launch-bound", "dispatch-bound"}
"""Codes of advice about a part of a call."""


class Slow(NamedTuple):
    """The arm to measure, its largest part, and the code of the advice ("" for none)."""

    arm: Arm
    largest: str
    advice: str = ""


FUNCTIONS = {
    "paced": Slow(GRAPH, "compute"),
    "ten_kernels": Slow(GRAPH, "compute"),
    "paced_thrice": Slow(EAGER, "compute"),
    "stalled": Slow(GRAPH, "stalls", "stalled"),
    "stalled_twice": Slow(GRAPH, "stalls", "stalled"),
    "fed_by_host": Slow(GRAPH, "stalls", "stalled"),
    "ten_kernels_and_a_stall": Slow(GRAPH, "compute", "stalled"),
    "paced_by_sleep": Slow(EAGER, "python"),
    "large": Slow(COPIED, "copies", "copy-bound"),
    "large_input_only": Slow(COPIED, "copies", "copy-bound"),
    "python_between": Slow(EAGER, "python"),
}


@pytest.fixture(scope="module")
def gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    pace_ns = HOST_S / 1000 * 1e9
    paces = {"kernel_us": KERNEL_S * 1e6, "pace_ns": pace_ns, "copy_gbps": LINK * 1e-9}
    worker = Worker(cpus=1, environment=emulated_gpu(1, **paces))
    yield worker
    worker.close()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_part_that_was_made_slow_is_named(gpu: Worker, name: str) -> None:
    slow = FUNCTIONS[name]
    wanted = {slow.advice} - {""}
    related = set[str]() if slow.largest == "python" else ABOUT_PARTS

    def attempt() -> tuple[str, set[str], list[str]]:
        request = Measure(
            id=uuid.uuid4().hex, scenario=Scenario("own", {}, f"{PACED}:{name}"), arms=(slow.arm,), budget=SHORT,
            phases=True, placement=True,
        )  # fmt: skip
        state = fold(gpu.measure(request))
        result = summarise(state)
        account, codes = result.arms[0].account, {found.code for found in result.diagnosis}
        assert contradictions(state) == []
        return largest(account) if account is not None else "", codes, untrue(state, (), KERNEL_S)

    def as_set(seen: tuple[str, set[str], list[str]]) -> bool:
        part, codes, false = seen
        return part == slow.largest and wanted <= codes and codes & related <= wanted and not false

    seen = repeat(attempt, as_set)
    assert as_set(seen), seen
