"""Formats explanations of op placement as plain text."""

from collections.abc import Iterator

from msgspec.structs import replace

from tuilab.model.events import Node
from tuilab.model.explain import ArmPlacement, ForecastRow, OpExplanation, ScenarioExplanation
from tuilab.model.ops import CONTROL_FLOW
from tuilab.model.quantity import plural, size
from tuilab.report.rows import aligned, wrapped

MOST, WIDEST = 25, 40


def op_text(answer: OpExplanation, most: int = 0) -> str:
    """Describe an op: verdict, reason, evidence and kernels.

    most: maximum width in columns, 0 for no limit.
    """
    return "\n".join(wrapped(_op(answer), most))


def _op(answer: OpExplanation) -> Iterator[str]:
    name = f"{answer.op} {answer.dtype}" if answer.dtype else answer.op
    yield f"{name}: {'runs on a GPU with this build' if answer.gpu else 'does not run on a GPU'}"
    yield f"  why        {answer.reason}"
    yield f"  evidence   {answer.evidence}"
    if answer.emulated:
        yield f"  {answer.emulated}"
    if answer.forced:
        yield f"  if forced  {_refused(answer)}"
    for line in answer.kernels:
        dtypes = ", ".join(line.dtypes) or ("any dtype" if answer.attribute else "registered")
        host = f" · in host memory: {', '.join(line.host_memory)}" if line.host_memory else ""
        yield f"  {line.device:<9}  {dtypes}{host}"


def scenario_text(answer: ScenarioExplanation, most: int = 0) -> str:
    """Describe a scenario: answer, observations and forecast.

    most: maximum width in columns, 0 for no limit.
    """
    return "\n".join(wrapped(_scenario(answer, most), most))


def _scenario(answer: ScenarioExplanation, most: int) -> Iterator[str]:
    yield answer.sentence
    if answer.emulated:
        yield answer.emulated
    if not answer.gpu_visible:
        yield f"No GPU is visible here ({answer.no_gpu}), so this is a forecast from the kernel registry."
    if answer.forced:
        yield f"TensorFlow's error when the op is forced onto the GPU: {_refused(answer)}"
    for arm in answer.arms:
        yield ""
        yield from _arm(arm, most)
    yield ""
    yield "Forecast for a GPU with this build"
    rows = sorted(answer.forecast, key=lambda row: row.op in CONTROL_FLOW)
    yield from aligned([_forecast(row) for row in rows], most)


def _refused(answer: OpExplanation | ScenarioExplanation) -> str:
    """Return TensorFlow's error, with a prefix if it only means that this machine has no GPU."""
    here = (
        "" if answer.gpu_visible or "available devices" not in answer.forced else "without a GPU, as here: "
    )
    return f"{here}{answer.forced}"


def _arm(arm: ArmPlacement, most: int) -> Iterator[str]:
    name = arm.label or arm.arm
    if arm.device is None:
        yield f"{name}: not run: {arm.reason}"
        return
    text = f"{name}: runs on {arm.device}, {plural(arm.ops, 'op')}"
    text += f" ({arm.folded} folded)" if arm.folded else ""
    if arm.copies:
        text += f", {arm.copies:,} {'copy' if arm.copies == 1 else 'copies'} of {size(arm.copied)}"
    # Ops that did not run on the requested device come first, because readers look for them. The runtime's
    # own ops for loops and branches come last.
    shown = sorted(
        (node for node in arm.nodes if node.kind != "folded"),
        key=lambda n: (n.op in CONTROL_FLOW, not n.elsewhere, n.kind != "copy"),
    )
    reasons = {node.reason for node in shown}
    same = reasons.pop() if len(reasons) == 1 and len(shown) > 1 else ""
    yield text + "".join(f"; {why}" for why in (arm.reason, same) if why)
    rows = [replace(node, reason="") for node in shown] if same else shown
    yield from aligned([_row(node) for node in rows[:MOST]], most)
    if len(shown) > MOST:
        yield f"  and {len(shown) - MOST} more rows (--json has them all)"


def _row(node: Node) -> tuple[str, ...]:
    return (
        f"{node.count}×" if node.count > 1 else "",
        node.op,
        _short(node.name) if node.name != node.op else "",
        node.dtype,
        f"{node.device} → {node.to}" if node.to else node.device,
        f"in {node.memory}" if node.memory else "",
        size(node.bytes) if node.bytes else "",
        node.reason,
    )


def _short(name: str) -> str:
    """Return the end of a long name, where similar names usually differ."""
    return name if len(name) <= WIDEST else "…" + name[1 - WIDEST :]


def _forecast(row: ForecastRow) -> tuple[str, ...]:
    return (
        f"{'≤' if row.at_most else ''}{row.count}×",
        row.op,
        row.dtype,
        "GPU" if row.gpu else "CPU",
        row.reason,
    )
