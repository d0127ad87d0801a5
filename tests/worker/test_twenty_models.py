"""Twenty-one models: each is declared correctly, runs in every possible arm, gives the model's own results,
and has layers whose shares add up.

Only five small models are tested by default; `--long` tests all of them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.worker.test_models import arm_build, declare, run
from tests.worker.twenty import MODELS, Made
from tuilab.analysis.summary import summarise
from tuilab.model.arms import MODES, Arm
from tuilab.model.parameters import check_values
from tuilab.model.result import RunResult
from tuilab.model.scenario import Budget, Opening
from tuilab.worker.models import open_model
from tuilab.workloads.base import Unavailable

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]
TOUCH = Budget(name="quick", warm_s=0.02, warm_limit_s=0.2, precision=1.0, rounds=3, limit_s=1.0)
XLA_RTOL = 2e-3
"""Relative tolerance for XLA, which orders sums differently. On a CPU, eager and graph calls return exactly
the model's own bits.
"""

EACH = [
    pytest.param(name, marks=() if made.small else pytest.mark.long, id=name) for name, made in MODELS.items()
]


def saved(tf: Any, name: str, folder: Path) -> tuple[Made, str, Opening]:
    made = MODELS[name]
    path = made.save(tf, folder)
    opening = Opening(code=str(folder / made.code)) if made.code else Opening()
    return made, f"{path}:{made.signature}" if made.signature else str(path), opening


@pytest.mark.parametrize("name", EACH)
def test_a_model_runs_in_all_expected_arms_and_its_parts_add_up(tf, worker, tmp_path, name):
    made, file, opening = saved(tf, name, tmp_path)
    declaration = declare(worker, file, opening).declaration
    keras = file.endswith(".keras")
    assert [p.name for p in declaration.parameters] == [*made.parameters, *(["dtype"] if keras else [])]
    state = run(worker, file, opening, MODES, phases=True, budget=TOUCH, **made.values)
    arms = [arm.arm for arm in state.arms.values()]
    assert {arm.mode for arm in arms} == set(MODES if keras else ("graph", "xla"))
    assert len({arm.variant for arm in arms} - {""}) == (0 if not keras else 1 + made.trains)
    result = summarise(state)
    for arm in result.arms:
        why = next((word for key, word in made.lacks.items() if {*key} <= {arm.mode, arm.variant}), "")
        detail = state.arms[arm.id].detail
        assert (arm.status, why in arm.reason) == (
            "unavailable" if why else "ok",
            True,
        ), f"{arm.label}: {arm.reason}\n{detail}"
        if why:
            continue
        assert arm.device == "CPU:0" and arm.median_s
        assert arm.account is not None
        assert sum(arm.phases_s.values()) == pytest.approx(arm.median_s, rel=1e-6)
        assert any(row.arm == arm.id and row.kind == "op" for row in result.placement)
    assert result.model.parameters >= 0 and result.model.inputs
    assert sum(layer.share for layer in result.model.layers) <= 1.0 + 1e-9
    for bound in result.bounds:
        assert all(bound.seconds < arm.median_s for arm in result.arms if arm.median_s)
    tell(name, result)


def tell(name: str, result: RunResult) -> None:
    ran = [arm for arm in result.arms if arm.status == "ok"]
    layers = sum(layer.share for layer in result.model.layers)
    near = max((bound.seconds / arm.median_s for bound in result.bounds for arm in ran), default=0.0)
    print(
        f"| {name} | {result.model.parameters:,} | {len(ran)} of {len(result.arms)} arms | "
        f"{len(result.model.layers)} layers, {layers:.0%} of the call | an H100's bound is {near:.1%} of an arm at most |"
    )


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name, made in MODELS.items() if made.trains])
def test_a_model_runs_in_mixed_precision_and_its_layers_compute_in_it(tf, worker, tmp_path, name):
    made, file, opening = saved(tf, name, tmp_path)
    dtypes = ("float32", "mixed_bfloat16", "mixed_float16")
    state = run(worker, file, opening, dtypes=dtypes, budget=TOUCH, **made.values)
    for arm in state.arms.values():
        if why := made.lacks.get((arm.arm.variant, arm.arm.dtype)):
            assert arm.status == "unavailable" and why in arm.reason
            continue
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
        half = arm.arm.dtype.removeprefix("mixed_")
        seen = {node.dtype for node in arm.placement[0] if node.kind == "op"}
        assert half in seen, f"{arm.label} computes in {seen}, not in {half}"


@pytest.mark.parametrize("name", EACH)
def test_the_results_of_an_arm_are_those_of_the_model(tf, tmp_path, name):
    made, file, opening = saved(tf, name, tmp_path)
    if made.code:
        exec(Path(opening.code).read_text(), {})
    workload = open_model(file, opening)
    declaration = workload.declaration
    values = check_values(declaration.parameters, declaration.constraints, made.values)
    variant = "inference" if declaration.variants else ""
    dtype = str(values["dtype"]) if declaration.dtype else ""
    for mode in declaration.modes:
        try:
            arm = Arm("CPU:0", mode, "resident", dtype, variant)
            case = workload.build(arm_build(tf, workload, arm, **made.values))
        except Unavailable:
            assert (mode,) in made.lacks
            continue
        with case.scope():
            found = [np.asarray(each) for each in tf.nest.flatten(case.call())]
        own = [
            np.asarray(each) for each in tf.nest.flatten(own_numbers(tf, file, made, mode, case.arguments))
        ]
        assert len(found) == len(own)
        for mine, theirs in zip(found, own, strict=True):
            if mode == "xla":
                np.testing.assert_allclose(mine, theirs, rtol=XLA_RTOL, atol=1e-4)
            else:
                np.testing.assert_array_equal(mine, theirs)


def own_numbers(tf: Any, file: str, made: Made, mode: str, inputs: Any) -> Any:
    """Compute the model's output for these inputs without tuilab, op by op or as a graph."""
    if not file.endswith(".keras"):
        held = tf.saved_model.load(file.removesuffix(f":{made.signature}"))
        signature = held.signatures[made.signature or "serving_default"]
        names = sorted(signature.structured_input_signature[1])
        return signature(**dict(zip(names, inputs, strict=True)))
    model = tf.keras.models.load_model(file)
    given = inputs[0] if len(inputs) == 1 else list(inputs)
    return model(given, training=False) if mode == "eager" else tf.function(model)(given, training=False)
