"""No arm on the emulated GPU is faster than its bound. Covers the presets, the functions of
`tests.benchmarks`, and several kinds of models.

The bound is for a device that is limited only by the emulation's kernels and copies.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import functions
from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import SHORT
from tests.emulated_gpu.test_presets import LIGHTER
from tests.emulated_gpu.test_twenty_models import KERNEL_S, LACKS, LINK, SHEET
from tests.worker.test_models import declare
from tests.worker.zoo import KINDS
from tests.workloads.test_presets import PRESETS, measured
from tuilab.analysis.bound import call_of, why_not_known
from tuilab.analysis.reading import estimate_at
from tuilab.model.arms import ArmSelection, family
from tuilab.model.datasheets import LEAST_LAUNCH, Rating
from tuilab.model.events import Declared
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import AS_IT_IS, Opening, Scenario
from tuilab.model.shapes import checked, parse

pytestmark = [pytest.mark.real_worker, pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    """Yield a worker whose GPU waits for each kernel, because TensorFlow's own kernels ignore the stream."""
    made = emulated_gpu(1, asynchronous=False, kernel_us=KERNEL_S * 1e6, copy_gbps=LINK * 1e-9)
    worker = Worker(cpus=1, environment=made)
    yield worker
    worker.close()


@pytest.fixture(autouse=True)
def _launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LEAST_LAUNCH, "Emulated", Rating(KERNEL_S, "as set"))


def compare(state: RunState, name: str) -> None:
    """Print the bound of each GPU arm as a share of its time. Fails if an arm is faster than its bound, or if
    no GPU arm ran.
    """
    gpu = [arm for arm in state.arms.values() if family(arm.arm.device) == "GPU"]
    failed = [arm for arm in gpu if arm.status != "unavailable" and not any(w in arm.reason for w in LACKS)]
    assert not failed or any(arm.status == "ok" for arm in gpu), [f"{a.label}: {a.reason}" for a in failed]
    faster = []
    for arm in state.arms.values():
        timed, call = estimate_at(arm, 0), call_of(state, arm.arm, 0)
        if arm.status != "ok" or family(arm.device or "") != "GPU" or timed is None:
            print(f"{name}: {arm.label}: {arm.status} {arm.reason[:100]}")
            continue
        if call is None or (why := why_not_known(call)):
            print(f"{name}: {arm.label}: not known: {why if call else 'no work'}")
            continue
        bound = call.on(SHEET)
        most = timed.interval[1] if timed.interval else timed.median
        part = f"{bound.seconds / timed.median:.2f} of {timed.median * 1e3:.2f} ms ({bound.limited_by})"
        print(f"{name}: {arm.label}: {part}")
        if bound.seconds > most:
            faster.append(f"{arm.label}: {part}, {call.kernels} kernels, {bound}")
    assert not faster, faster


def run(worker: Worker, file: str, opening: Opening = AS_IT_IS, values: Mapping[str, Any] = {}) -> RunState:
    answer = declare(worker, file, opening)
    assert isinstance(answer, Declared), answer
    declaration = answer.declaration
    given = check_values(declaration.parameters, declaration.constraints, values)
    arms = expand(
        ArmSelection(devices=("GPU",), modes=("eager", "graph")), declaration, given, ("CPU:0", "GPU:0")
    )
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario(declaration.name, given, file, opening), arms=arms,
        budget=SHORT, latency=False, phases=True,
    )  # fmt: skip
    return fold(worker.measure(request))


@pytest.mark.parametrize("name", PRESETS)
def test_no_arm_of_a_preset_beats_its_bound(gpu: Worker, name: str) -> None:
    state = measured(gpu, name, LIGHTER, lambda arm: arm.device != "CPU:0", SHORT, points=1, phases=True)
    compare(state, name)


@pytest.mark.parametrize(
    "asked", [each for each in functions.CASES if not each.refused], ids=lambda a: a.name
)
def test_no_arm_of_an_own_function_beats_its_bound(gpu: Worker, asked: functions.Asked) -> None:
    opening = Opening(inputs=checked([parse(each) for each in asked.shapes]))
    compare(run(gpu, f"{functions.FILE}:{asked.name}", opening), asked.name)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.refused])
def test_no_arm_of_a_model_beats_its_bound(gpu: Worker, tf: Any, tmp_path: Path, name: str) -> None:
    kind = KINDS[name]
    file = kind.save(tf, tmp_path)
    code = str(tmp_path / "own.py") if kind.code else ""
    opening = Opening(code=code, inputs=checked([parse(each) for each in kind.given]))
    compare(run(gpu, str(file), opening, dict(kind.values)), name)
