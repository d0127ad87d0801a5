"""Builds the verdict on an op as text, for one dtype or for all dtypes that it accepts. Pure functions."""

from collections.abc import Mapping

from tuilab.analysis.words import listed
from tuilab.model.explain import KernelLine
from tuilab.worker.placement.kernels import OpKernels
from tuilab.worker.placement.reasons import Forecast, Reason, calls_python, forecast


def verdict(kernels: OpKernels, dtype: str = "", gpu_kernels: bool = True) -> Forecast:
    """Forecast whether a GPU would run the op on `dtype` ("": any dtype) with this build of TensorFlow."""
    if dtype and not kernels.main:
        return _without_attribute(kernels, dtype, gpu_kernels)
    if dtype or not kernels.main:
        return forecast(kernels, {kernels.main: dtype} if dtype else {}, gpu_kernels)
    return _over_all(kernels, gpu_kernels)


def dtypes(kernels: OpKernels) -> tuple[str, ...]:
    allowed = kernels.allowed.get(kernels.main, ())
    named = set[str]().union(*(k.types.get(kernels.main, frozenset()) for k in kernels.kernels))
    return allowed or tuple(sorted(named))


def _without_attribute(kernels: OpKernels, dtype: str, gpu_kernels: bool) -> Forecast:
    """Return the forecast for an op with fixed types. Refuses a dtype that no argument of the op has."""
    would = forecast(kernels, {}, gpu_kernels)
    fixed = [a.dtype for a in (*kernels.inputs, *kernels.outputs) if a.dtype]
    if dtype in fixed or not fixed:
        return would
    types = {a.name: a.dtype for a in (*kernels.inputs, *kernels.outputs)}
    text = f"{kernels.op} does not take {dtype}: its types are fixed, {_pairs(types)}"
    return Forecast(False, Reason("refused", text, f"the definition of {kernels.op} has no dtype to choose"))


def _pairs(types: Mapping[str, str]) -> str:
    return listed([f"{name} {dtype}" for name, dtype in types.items() if dtype])


def _over_all(kernels: OpKernels, gpu_kernels: bool) -> Forecast:
    every = {dtype: forecast(kernels, {kernels.main: dtype}, gpu_kernels) for dtype in dtypes(kernels)}
    if not every:
        return forecast(kernels, {}, gpu_kernels)
    runs = [dtype for dtype, would in every.items() if would.gpu]
    host = [dtype for dtype, would in every.items() if would.reason.code == "host-memory"]
    lacks = [d for d, w in every.items() if not w.gpu and w.reason.code != "host-memory"]
    if not runs and not host:
        return forecast(kernels, {}, gpu_kernels)
    parts = [f"GPU kernel for {listed(runs)}{calls_python(kernels.op)}"] if runs else []
    parts += [f"its kernel works in host memory for {listed(host)}"] if host else []
    parts += [f"none for {listed(lacks)}"] if lacks else []
    evidence = f"{len([k for k in kernels.kernels if k.device != 'CPU'])} GPU kernels are registered"
    first = every[runs[0] if runs else host[0]]
    return Forecast(bool(runs), Reason(first.reason.code, "; ".join(parts), evidence), first.kernel)


def kernel_lines(kernels: OpKernels) -> tuple[KernelLine, ...]:
    """Return a line for each kernel. Kernels for one device with the same host arguments share a line."""
    every = kernels.allowed.get(kernels.main, ())
    lines: dict[tuple[str, tuple[str, ...]], set[str] | None] = {}
    for kernel in kernels.kernels:
        key = kernel.device, tuple(sorted(kernel.host))
        named = kernel.types.get(kernels.main)
        known = lines.setdefault(key, set())
        if named is None or known is None:
            lines[key] = None
        else:
            known |= named
    order = {"GPU": 0, "DEFAULT": 1, "CPU": 2}
    ranked = sorted(lines.items(), key=lambda item: (order.get(item[0][0], 3), item[0][1]))
    return tuple(
        KernelLine(device=device, dtypes=tuple(sorted(every if named is None else named)), host_memory=host)
        for (device, host), named in ranked
    )
