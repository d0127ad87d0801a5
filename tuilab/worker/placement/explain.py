"""Answers the questions `explain-op` and `explain-scenario`."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from tuilab.analysis.words import first_few, listed
from tuilab.model.arms import Arm, family, labels
from tuilab.model.errors import InputError
from tuilab.model.events import ops_of
from tuilab.model.explain import (
    ArmPlacement,
    ExplainOp,
    ExplainScenario,
    ForecastRow,
    OpExplanation,
    ScenarioExplanation,
)
from tuilab.model.ops import PYTHON
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import Scenario
from tuilab.worker.build import ArmBuild, load
from tuilab.worker.context import Context
from tuilab.worker.measure.prepare import missing_device
from tuilab.worker.placement import registry
from tuilab.worker.placement.forced import forced
from tuilab.worker.placement.kernels import OpKernels
from tuilab.worker.placement.observe import observe
from tuilab.worker.placement.summary import Observation, united
from tuilab.worker.placement.verdict import dtypes, kernel_lines, verdict
from tuilab.workloads.base import Unavailable, Workload

MOST_NAMED = 3


def explain_op(context: Context, body: bytes) -> Iterator[OpExplanation]:
    """Yield one `OpExplanation`. Raises InputError for an op or dtype that this TensorFlow lacks."""
    question = msgspec.json.decode(body, type=ExplainOp)
    kernels = _kernels(question.op)
    dtype = _dtype(context.tf, question.dtype)
    would = verdict(kernels, dtype, registry.has_gpu_kernels())
    yield OpExplanation(
        op=kernels.op,
        dtype=dtype or None,
        gpu=would.gpu,
        reason=would.reason.text,
        evidence=would.reason.evidence,
        kernels=kernel_lines(kernels),
        code=would.reason.code,
        attribute=kernels.main,
        forced=_forced_response(context.tf, kernels, dtype),
        gpu_visible=bool(context.machine.gpus),
        emulated=context.machine.emulated_note,
    )


def _kernels(text: str) -> OpKernels:
    name = registry.find(text)
    kernels = registry.look_up(name) if name else None
    if kernels is None:
        near = registry.nearest(text)
        like = f", such as {listed(near, 'or')}" if near else ", such as MatMul or Conv2D"
        raise InputError("op", sanitize_line(text, 100), "the name of an op in this TensorFlow" + like)
    return kernels


def _dtype(tf: Any, text: str) -> str:
    if not text:
        return ""
    try:
        return str(tf.dtypes.as_dtype(text.removeprefix("tf.")).base_dtype.name)
    except TypeError:
        raise InputError(
            "dtype", sanitize_line(text, 100), "a dtype such as float32, int32 or string"
        ) from None


def _forced_response(tf: Any, kernels: OpKernels, dtype: str) -> str:
    """Return TensorFlow's response to the op on the GPU. Without a `dtype`, prefers float32."""
    preferred = sorted(dtypes(kernels), key=lambda name: name != "float32")
    chosen = dtype or next(iter(preferred), "float32")
    return forced(tf, kernels, {kernels.main: chosen} if kernels.main else {})


def explain_scenario(context: Context, body: bytes) -> Iterator[ScenarioExplanation]:
    """Yield one `ScenarioExplanation`. Runs each arm a few times. Raises InputError for invalid values."""
    question = msgspec.json.decode(body, type=ExplainScenario)
    workload, scenario = load(question.scenario)
    watched = [_placement(context, workload, scenario, arm) for arm in question.arms]
    named = zip(watched, labels(question.arms), strict=True)
    arms = tuple(msgspec.structs.replace(placement, label=name) for (placement, _), name in named)
    # Apart from optimizations, the ops are the same on every device, so examine one device only.
    observed = [seen for _, seen in watched if seen is not None]
    device = observed[0].device if observed else None
    rows = united([seen.forecast for seen in observed if seen.device == device])
    stuck = next((row for row in rows if not row.gpu and row.code != "input-pipeline"), None)
    yield ScenarioExplanation(
        workload=workload.declaration.name,
        gpu_visible=bool(context.machine.gpus),
        emulated=context.machine.emulated_note,
        no_gpu=context.machine.no_gpu,
        arms=arms,
        forecast=rows,
        sentence=seen_sentence(arms) or sentence(rows),
        forced=_forced_response(context.tf, registry.known(stuck.op), stuck.dtype) if stuck else "",
    )


def _placement(
    context: Context, workload: Workload, scenario: Scenario, arm: Arm
) -> tuple[ArmPlacement, Observation | None]:
    if absent := missing_device(context.machine, arm):
        return ArmPlacement(arm=arm.id, requested=arm.device, reason=absent), None
    try:
        case = workload.build(ArmBuild(context, "", arm, scenario.parameters))
    except Unavailable as error:
        return ArmPlacement(arm=arm.id, requested=arm.device, reason=str(error)), None
    try:
        with case.scope():
            case.call()
        seen = observe(context, case, arm)
    finally:
        case.close()
    told = {name: getattr(seen, name) for name in ArmPlacement.__struct_fields__[3:]}
    return ArmPlacement(arm=arm.id, requested=arm.device, **told), seen


def sentence(rows: Sequence[ForecastRow]) -> str:
    """Return a forecast such as `With this build, a GPU would run 11 of 12 ops; the rest stay on the CPU:
    …`.
    """
    total = sum(row.count for row in rows)
    if not total:
        return "No TensorFlow op ran, so there is nothing to forecast."
    yes = sum(row.count for row in rows if row.gpu)
    calls = sorted({row.op for row in rows if row.gpu and row.op in PYTHON})
    python = f" But the Python code that {listed(calls)} calls runs on the CPU." if calls else ""
    every = "the one op" if total == 1 else f"all {total:,} ops"
    ran = every if yes == total else f"{yes:,} of {total:,} ops"
    ran += ", counting every branch" if any(row.at_most for row in rows) else ""
    if yes == total:
        return f"With this build, a GPU would run {ran}.{python}"
    stuck = [row for row in rows if not row.gpu]
    kinds = _kinds([(row.op, row.dtype, row.reason) for row in stuck])
    if not yes:
        return f"With this build, a GPU would run none of the ops: {kinds}."
    return f"With this build, a GPU would run {ran}; the rest stay on the CPU: {kinds}.{python}"


def seen_sentence(arms: Sequence[ArmPlacement]) -> str:
    """Return a sentence such as `GPU graph: 11 of 12 ops ran on GPU:0; 1 op ran on the CPU: …`; "" if no arm
    ran on a GPU.
    """
    arm = next((arm for arm in arms if family(arm.requested) == "GPU" and arm.device == arm.requested), None)
    if arm is None:
        return ""
    # Skip ops of an input pipeline: they run on the host even if a GPU could.
    ran = [node for node in ops_of(arm.nodes) if node.gpu is not None or not node.on_host]
    stuck = [node for node in ran if node.on_host]
    total, off = (sum(node.count for node in nodes) for nodes in (ran, stuck))
    if not off:
        return f"{arm.label}: {'the one op' if total == 1 else f'all {total:,} ops'} ran on {arm.device}."
    kinds = _kinds(list(dict.fromkeys((node.op, node.dtype, node.reason) for node in stuck)))
    rest = "1 op" if off == 1 else f"{off:,} ops"
    return (
        f"{arm.label}: {total - off:,} of {total:,} ops ran on {arm.device}; {rest} ran on the CPU: {kinds}."
    )


def _kinds(stuck: Sequence[tuple[str, str, str]]) -> str:
    """Format (op, dtype, reason) triples, as in `Max int32 and MatMul int32 (its kernel works in host
    memory)`.
    """
    why: dict[str, list[str]] = {}
    for op, dtype, reason in stuck:
        why.setdefault(reason, []).append(f"{op} {dtype}".rstrip())
    return ", ".join(f"{first_few(names, MOST_NAMED)} ({reason})" for reason, names in why.items())
