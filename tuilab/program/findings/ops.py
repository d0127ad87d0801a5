"""Findings about the ops of a step. Pure functions."""

import math
from collections.abc import Iterator, Sequence

from tuilab.analysis.words import percent
from tuilab.model.account import PY_FUNCTION
from tuilab.model.ops import PYTHON
from tuilab.model.program import Bottleneck
from tuilab.model.quantity import plural, seconds
from tuilab.program import source
from tuilab.program.case import Case
from tuilab.program.findings.common import SMALL_OP_S, batches, finding, with_small
from tuilab.program.findings.loops import call_sites
from tuilab.program.findings.python import between, eager
from tuilab.program.fold import STARTING, Process, gain_interval, share_interval
from tuilab.program.graph import Op, ops_of, reason_of

MANY_OPS, SCHEDULED = 100, 0.5
COMPILED_OP_S, COMPILED_CALL_S = 3e-3, 0.1e-3
"""Seconds that XLA takes to compile one op of a graph (0.2 ms to 4.5 ms in eight graphs on a CPU), and
overhead in seconds per call of the compiled graph.
"""
DOUBLE, CALLED = 0.10, 0.10
LEFT_OF_DOUBLES = 0.75
"""Maximum share of float64 ops' time that float32 can save on a CPU."""
MANY_STEPS, STARTED = 100, 0.7
"""The batches of `fit` are reported as small if there are at least this many steps, and if launching ops
takes at least this share of a step.
"""
_MATRIX = ("MatMul", "Conv", "BatchMatMul", "Einsum", "CudnnRNN", "gemm", "conv")


def doubles(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for float64 ops for which float32 would suffice."""
    rows = [row for row in ops_of(case.of) if row.op not in PYTHON]
    total = sum(row.seconds for row in rows)
    wide = [row for row in rows if row.dtype in ("float64", "complex128")]
    if not total:
        return
    # Ops run on several threads at once, so scale their share of all ops' time by the share of `compute` in
    # the step.
    spent = sum(row.seconds for row in wide) / total * case.of.share("compute")
    if spent < DOUBLE:
        return
    top = largest(wide)
    # float32 needs half the bytes and has twice as many vector lanes, which halves the time. A library's
    # float32 kernels may save three quarters, and a GPU with few float64 units nearly all of it.
    share, most = spent / 2, spent if case.gpus else LEFT_OF_DOUBLES * spent
    yield finding(
        case,
        "float64",
        (top.file, top.line),
        f"{percent(spent)} of a step is float64 computation ({top.op})",
        share,
        interval=(share, most),
        sizes=matrices(case.of),
    )


def largest(rows: Sequence[Op]) -> Op:
    """Return the op with the most time. Gradient ops count only if there are no other ops."""
    return max(rows, key=lambda row: ("gradient" not in row.name, row.seconds))


def precision(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for float32 matrix products on a GPU with tensor cores."""
    facts, of = case.of.facts, case.of
    if facts is None or not case.gpus or facts.policy.startswith("mixed") or not of.seen:
        return
    capable = [row for row in facts.physical if row[1] == "GPU" and row[3] and tuple(row[3]) >= (7, 0)]
    rows = [row for row in ops_of(of) if row.device.startswith("GPU") and row.dtype == "float32"]
    profiled = of.profiled_step_s
    matrix = [row for row in rows if any(word in row.op for word in _MATRIX)]
    spent = sum(row.seconds for row in matrix) / profiled if profiled else 0.0
    if not capable or spent < 0.4:
        return
    top = largest(matrix)
    yield finding(
        case,
        "mixed-precision",
        (top.file, top.line) if top.file else case.step_at(),
        f"{percent(min(1.0, spent))} of a step multiplies matrices in float32 on a GPU that has tensor cores",
        spent,
        sizes=batches(of),
    )


def python_called(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for Python code that an op of a step calls."""
    of = case.of
    rows = [row for row in ops_of(of) if row.op in PYTHON] if of.seen else []
    share = of.share(PY_FUNCTION) if rows else 0.0
    if share >= CALLED:
        top = largest(rows)
        text = f"{percent(share)} of a step is Python that {top.op} calls, which no GPU and no XLA speeds up"
        interval = gain_interval(of.typical, PY_FUNCTION)
        yield finding(case, "python-called", (top.file, top.line), text, share, interval=interval)


def small_ops(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for ops that take longer to launch than to compute."""
    of, key = case.of, case.of.step
    if not of.seen or not isinstance(key, int):
        return
    function = of.functions.get(key)
    # After about ninety runs of a cheap op, the runtime omits it from profiles.
    profiled = max(sum(seen.counts.values()) for _, seen in of.profiled)
    n = max(profiled, float(sum(of.sizes[key].values())))
    spent = of.share("compute")
    step = of.times().median_s or 0.0
    started = of.share(*STARTING)
    idle = of.undisturbed(started)  # ops also start late if other processes use the processors
    interval = with_small(of, gain_interval(of.typical, *STARTING))
    if function is None or function.xla or n < MANY_OPS or spent * step / n > SMALL_OP_S:
        return
    if any(op == "ReduceDataset" for op, *_ in of.nodes.values()):
        return  # the pipeline's threads launch the ops of a graph's loop over a dataset
    each = f" of {seconds(spent * step / n)} each" if spent and profiled >= n / 2 else ""
    # A profile counts each pass of a loop and omits cheap ops that ran often; the graph has each op once.
    small = f"{plural(round(n), 'op')} {'ran in a step' if profiled >= n else 'in the graph of a step'}{each}"
    on_gpu = any(part.name.startswith("compute on GPU") for part in of.parts())
    # XLA must save more time over all steps than compiling takes.
    compile_s = sum(of.sizes[key].values()) * COMPILED_OP_S
    saved = started * step - COMPILED_CALL_S
    pays = saved > 0 and saved * of.stepping_s / step > compile_s
    once = ""
    if pays:
        once = f"; XLA compiles them in about {seconds(compile_s, compile_s / 5)}, "
        once += f"which pays off after {math.ceil(compile_s / saved):,} steps at the earliest"
    if on_gpu and idle >= 0.3:
        yield finding(
            case,
            "launch-bound",
            case.step_at(),
            f"{small}: {percent(started)} of the step is spent launching them{once}",
            started,
            advice="launch-bound" if pays else "launch-bound, few steps",
            interval=interval,
            sizes={"ops": round(n)},
        )
    elif (
        function.own
        and pays
        and idle >= SCHEDULED
        and interval is not None
        and interval[0] >= SCHEDULED - 0.1
    ):
        yield finding(
            case,
            "xla-off",
            case.step_at(),
            f"{small}: {percent(started)} of a step is spent starting them{once}",
            started,
            interval=interval,
            sizes={"ops": round(n)},
            costs_s=compile_s + COMPILED_CALL_S * of.stepping_s / step,
        )


def small_batches(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for calls of `fit` in which launching a step takes longer than computing it."""
    of = case.of
    if of.kind != "keras" or not of.seen or of.steps.n < MANY_STEPS:
        return
    if any(between(case)) or any(eager(case)) or any(call_sites(case)):
        return  # these findings already explain the launch time
    before, starting = ("python", "dispatch"), of.share("scheduling")
    share = of.share(*before)
    interval, least = gain_interval(of.typical, "python", *STARTING), share_interval(of.typical, *before)
    if of.undisturbed(share + starting) < STARTED or interval is None or interval[0] < STARTED - 0.1:
        return
    assert least is not None
    if source.argument(case.sources, "steps_per_execution")[1]:
        return
    sizes = batches(of)
    why = f": batches of {sizes['batch']:,} are too small to keep the device busy" if "batch" in sizes else ""
    yield finding(
        case,
        "small-batches",
        case.step_at(),
        f"{percent(share)} of each step is spent in Python and dispatch, {percent(starting)} in scheduling"
        f"{why}",
        share,
        # If one call runs several steps, each step still schedules its ops, but a busy thread pool starts the
        # ops sooner.
        interval=(least[0], interval[1]),
    )


def on_host(case: Case) -> Iterator[Bottleneck]:
    """Yield a finding for ops without a GPU kernel in a step that computes on a GPU."""
    of = case.of
    if not case.gpus or not of.seen or not any(p.name.startswith("compute on GPU") for p in of.parts()):
        return
    profiled = of.profiled_step_s
    for row in ops_of(of):
        share = row.seconds / profiled
        kernels = of.kernels.get(row.kind)
        lacks = kernels is not None and (
            "GPU" not in kernels or (bool(kernels["GPU"]) and row.dtype not in kernels["GPU"])
        )
        if row.device == "CPU" and share >= 0.02 and lacks:
            yield finding(
                case,
                "host-op",
                (row.file, row.line),
                f"{row.op} runs on the CPU: {reason_of(row, of)}; this takes {percent(share)} of "
                "a step and needs two copies",
                share,
            )


def matrices(of: Process) -> dict[str, int]:
    """Return the sizes of the first matrix product with known shapes, under the names that matmul presets
    use.
    """
    described = of.traces.get(of.step, []) if isinstance(of.step, int) else []
    shapes = [one[1] for _, rows in described[:1] for one in rows or () if one[0] == "tensor"]
    found = [shape for shape in shapes if isinstance(shape, list) and len(shape) == 2 and all(shape)]
    if not found:
        return {}
    m, k = found[0]
    return {"m": m, "k": k, "n": next((other[1] for other in found[1:] if other[0] == k), k)}
