"""The twenty models on an emulated GPU whose kernels and copies take a configured time.

No arm is faster than its bound. The smallest batch that is faster on the GPU matches the configuration.
"""

import statistics
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Worker, fold
from tests.emulated_gpu.runs import SHORT
from tests.worker.test_models import declare
from tests.worker.test_twenty_models import saved
from tests.worker.twenty import MODELS, Made
from tuilab.analysis.bound import GpuCall
from tuilab.analysis.reading import estimate_at
from tuilab.analysis.roofline import kernel_count, work_of
from tuilab.analysis.summary import summarise
from tuilab.model.arms import Arm, ArmSelection, family
from tuilab.model.datasheets import LEAST_LAUNCH, DataSheet, Rating
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.requests import Measure
from tuilab.model.run import ArmState, RunState
from tuilab.model.scenario import Axis, Budget, Scenario, Sweep

pytestmark = [pytest.mark.real_worker, pytest.mark.long, pytest.mark.timeout(1_200)]

KERNEL_S, LINK = 30e-6, 1e9
SHEET = DataSheet(
    name="Emulated", family="Emulated", vector={"float32": Rating(1e15, "no limit")}, tensor={},
    bandwidth=Rating(1e15, "no limit"), memory=Rating(64 * 2.0**30, "as set"), link=Rating(LINK, "as set"),
    cache=Rating(1.0, "none"),
)  # fmt: skip


LACKS = ("CudnnRNN", "no supported kernel for GPU devices")
"""Parts of the messages for ops that the emulation lacks: cuDNN's recurrent layers, and gathering from a
variable.
"""
PUT_AT, SLOW_S, PACE_S = 10, 6e-3, 400e-9
"""PUT_AT: batch size at which CPU and GPU take the same time. SLOW_S: seconds per kernel, long enough to hide
the emulating processor's time. PACE_S: seconds per element of the op with a known speed.
"""


@pytest.fixture(scope="module")
def gpu(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(1, kernel_us=KERNEL_S * 1e6, copy_gbps=LINK * 1e-9))
    yield worker
    worker.close()


@pytest.mark.parametrize("name", MODELS)
def test_gpu_arms_of_a_model_run_and_are_above_their_bound(
    gpu: Worker, tf: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(LEAST_LAUNCH, "Emulated", Rating(KERNEL_S, "as set"))
    made, file, opening = saved(tf, name, tmp_path)
    declaration = declare(gpu, file, opening).declaration
    values = check_values(declaration.parameters, declaration.constraints, made.values)
    dtypes = ("float32", "mixed_float16") if declaration.dtype else ()
    selection = ArmSelection(devices=("GPU",), modes=("eager", "graph"), dtypes=dtypes)
    arms = expand(selection, declaration, values, ("CPU:0", "GPU:0"))
    request = Measure(
        id=uuid.uuid4().hex, scenario=Scenario(declaration.name, values, file, opening), arms=arms, budget=SHORT,
        latency=False, phases=True,
    )  # fmt: skip
    state = fold(gpu.measure(request))
    for arm in state.arms.values():
        if any(words in arm.reason for words in LACKS):
            continue
        if why := made.lacks.get((arm.arm.variant, arm.arm.dtype)):
            assert arm.status == "unavailable" and why in arm.reason
            continue
        if name == "strings" and arm.arm.input == "copied":
            assert arm.status == "unavailable" and "strings are not copied" in arm.reason
            continue
        assert arm.status == "ok" and family(arm.device or "") == "GPU", (
            f"{arm.label}: {arm.reason}\n{arm.detail}"
        )
        _bounded(state, arm)


def _bounded(state: Any, arm: ArmState) -> None:
    timed, work = estimate_at(arm, 0), work_of(state, arm, 0)
    assert timed is not None and work is not None
    call = GpuCall(
        work, None, arm.arm.mode, copied=arm.arm.input == "copied", kernels=kernel_count(state, arm.arm, 0)
    )
    bound = call.on(SHEET)
    print(
        f"{arm.label}: {bound.seconds / timed.median:.2f} of {timed.median * 1e3:.2f} ms, {call.kernels} kernels"
    )
    assert bound.seconds <= timed.median


@pytest.fixture(scope="module")
def slow(emulated_gpu: Callable[..., dict[str, str]]) -> Iterator[Worker]:
    worker = Worker(cpus=1, environment=emulated_gpu(1, kernel_us=SLOW_S * 1e6, pace_ns=PACE_S * 1e9))
    yield worker
    worker.close()


@pytest.mark.parametrize("name", MODELS)
def test_the_batch_from_which_a_gpu_is_faster_is_found_where_it_was_set(
    slow: Worker, tf: Any, tmp_path: Path, name: str
) -> None:
    """Adds an op to the model's graph. The op takes constant time on the GPU. On the CPU, the op's time per
    example makes both devices equal at about ten examples.
    """
    made, file, opening = saved(tf, name, tmp_path)
    if made.code:
        exec(Path(opening.code).read_text(), {})
    least = _sweep(slow, tf, file, made, tmp_path / "one", 1, Axis("batch", (PUT_AT,)), ("GPU:0",))
    (arm,) = least.arms.values()
    if any(words in arm.reason for words in LACKS):
        pytest.skip("the emulation has none of its kernels")
    timed = estimate_at(arm, 0)
    assert timed is not None, f"{arm.reason}\n{arm.detail}"
    each = round(timed.median / (PUT_AT * PACE_S))
    batches = (4, 8, 14, 24)
    state = _sweep(slow, tf, file, made, tmp_path / "all", each, Axis("batch", batches), ("CPU:0", "GPU:0"))
    gpu = next(arm for arm in state.arms.values() if arm.arm.device == "GPU:0")
    seen = [estimate_at(gpu, point) for point in range(len(batches))]
    took_s = statistics.median(one.median for one in seen if one is not None)
    put, found = took_s / (each * PACE_S), summarise(state).batch
    print(
        f"{name}: a call on the GPU takes {took_s * 1e3:.0f} ms, put at {put:.1f}, found at {found.crossover}"
    )
    assert found.crossover == pytest.approx(put, rel=0.15)


def _sweep(
    worker: Worker,
    tf: Any,
    file: str,
    made: Made,
    folder: Path,
    each: int,
    axis: Axis,
    devices: tuple[str, ...],
) -> RunState:
    """Measure a graph of the model and the op with a known speed, which processes `each` elements per
    example.
    """
    graph = _beside_a_paced_op(tf, file, made, folder, each)
    declaration = declare(worker, graph).declaration
    values = {name: n for name, n in made.values.items() if name in made.parameters}
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=Scenario(
            declaration.name, check_values(declaration.parameters, declaration.constraints, values), str(graph)
        ),
        arms=tuple(Arm(device, "graph", "resident", "") for device in devices),
        budget=Budget(name="quick", warm_s=0.01, warm_limit_s=0.05, precision=0.05, rounds=8, limit_s=6.0),
        sweep=Sweep(axes=(axis,)), latency=False, phases=False, placement=True, seed=1,
    )  # fmt: skip
    state = fold(worker.measure(request))
    assert state.status == "ok", state.message
    return state


def _beside_a_paced_op(tf: Any, file: str, made: Made, folder: Path, each: int) -> Path:
    root = tf.Module()
    if file.endswith(".keras"):
        root.held = tf.keras.models.load_model(file)
        specs = [(t.shape, t.dtype) for t in root.held.inputs]

        def run(*given: Any) -> Any:
            return root.held(given[0] if len(given) == 1 else list(given), training=False)
    else:
        root.held = tf.saved_model.load(file.removesuffix(f":{made.signature}"))
        signature = root.held.signatures[made.signature or "serving_default"]
        taken = signature.structured_input_signature[1]
        names = sorted(taken)
        specs = [(each.shape, each.dtype) for each in (taken[name] for name in names)]

        def run(*given: Any) -> Any:
            return signature(**dict(zip(names, given, strict=True)))

    def call(*given: Any) -> dict[str, Any]:
        made = [tf.convert_to_tensor(each) for each in tf.nest.flatten(run(*given))]
        first = tf.reshape(made[0], [tf.shape(made[0])[0], -1])[:, :1]
        # use the model's output, because constants would be folded
        paced = tf.math.digamma(tf.cast(first, tf.float32) * tf.ones([1, each]))
        return {**{f"of_{i}": t for i, t in enumerate(made)}, "paced": paced}

    named = [tf.TensorSpec(shape, dtype, name=f"given_{i}") for i, (shape, dtype) in enumerate(specs)]
    tf.saved_model.save(root, str(folder), signatures=tf.function(call).get_concrete_function(*named))
    return folder
