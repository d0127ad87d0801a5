"""Gets TensorFlow's own report from a child process: import, build, device list, work on the GPU."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tuilab.doctor import children
from tuilab.doctor.place import Place
from tuilab.doctor.tensorflow_log import TensorFlowLog
from tuilab.interpreter import worker_command
from tuilab.model.doctor import Began, Built, Imported, Listed, ListedGpu, Probe, Tried, decode
from tuilab.model.errors import UNDECODED
from tuilab.model.sanitize import sanitize_line

VMODULE = "cuda_diagnostics=1,dso_loader=1"
"""Value of TF_CPP_VMODULE that makes TensorFlow log driver versions and each library that it opens."""

WORK = ("Mul", "MatMul", "Conv2D", "XLA")
"""Tests that the child process runs on the GPU. Each test needs a different library or compiler."""


@dataclass(frozen=True)
class TensorFlow:
    """The report of the child process that runs TensorFlow. A field is None if the child ended before it
    reported the field.

    hung: the stage during which the child was killed on timeout. crashed: how and during which stage the
    child ended.
    """

    imported: Imported | None = None
    built: Built | None = None
    listed: Listed | None = None
    tried: tuple[Tried, ...] = ()
    hung: str = ""
    crashed: str = ""
    log: TensorFlowLog = field(default_factory=TensorFlowLog)

    @property
    def gpus(self) -> tuple[ListedGpu, ...]:
        return self.listed.gpus if self.listed else ()

    @property
    def pluggable(self) -> bool:
        """True if a plug-in provides the GPUs: the build has no CUDA, and no listed GPU has a compute
        capability.
        """
        built = self.built is not None and not self.built.cuda
        return built and bool(self.gpus) and not any(gpu.compute_capability for gpu in self.gpus)

    @property
    def compiling(self) -> bool:
        """True if the child process was killed while it worked on a GPU for which the build has only PTX."""
        return self.hung in WORK and "ptx" in self.log

    @property
    def failed(self) -> Tried | None:
        return next((tried for tried in self.tried if tried.error), None)


def environment(place: Place) -> dict[str, str]:
    vmodule = ",".join(filter(None, [place.environ.get("TF_CPP_VMODULE", ""), VMODULE]))
    growth = place.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    more = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": vmodule, "TF_FORCE_GPU_ALLOW_GROWTH": growth}
    if place.environment is None:
        return children.environment(place.environ, **more)
    return dict(place.environ) | more | worker_command(place.environment, place.worker)[1]


COMPILING_S = 120.0
"""Extra seconds for the child process while the driver compiles TensorFlow's kernels for this GPU."""


def look(place: Place, until: float, wait: Callable[[float], None] = lambda seconds: None) -> TensorFlow:
    """Run the child at most until the time `until`, and return its report.

    A child that is compiling kernels from PTX may run for `COMPILING_S` longer. wait: called with the number
    of extra seconds before they begin.
    """

    def more(ran: children.Ran) -> float:
        if not read(ran).compiling:
            return 0.0
        wait(COMPILING_S)
        return COMPILING_S

    argv, _ = worker_command(place.environment, place.worker)
    return read(children.run(argv, environment(place), until, more))


def read(ran: children.Ran) -> TensorFlow:
    stages = []
    for line in ran.out.splitlines():
        try:
            stages.append(decode(line))
        except UNDECODED:
            continue
    begun = next((stage.what for stage in reversed(stages) if isinstance(stage, Began)), "starting")
    err = ran.err.decode(errors="replace")
    last = next((line for line in reversed(err.splitlines()) if line.strip()), "")
    return TensorFlow(
        imported=next((s for s in stages if isinstance(s, Imported)), None),
        built=next((s for s in stages if isinstance(s, Built)), None),
        listed=next((s for s in stages if isinstance(s, Listed)), None),
        tried=tuple(s for s in stages if isinstance(s, Tried)),
        hung=begun if ran.code is None else "",
        crashed=f"{ran.ending} in {begun}: {sanitize_line(last, 200)}" if ran.code else "",
        log=TensorFlowLog(err, [s.error for s in stages if isinstance(s, Listed | Tried) and s.error]),
    )


def probes(found: TensorFlow) -> tuple[Probe, ...]:
    return (_import(found), _build(found), _list(found), *(_work(found, what) for what in WORK))


UNREACHED = "not reached"


def _silent(found: TensorFlow, name: str) -> Probe:
    if found.crashed:
        return Probe(name, "fail", f"the process that ran this test {found.crashed}")
    if found.hung:
        return Probe(name, "fail", f"did not answer: {found.hung}")
    return Probe(name, "skip", UNREACHED)


def _import(found: TensorFlow) -> Probe:
    name, imported = "TensorFlow import", found.imported
    if imported is None:
        return _silent(found, name)
    if imported.error:
        return Probe(name, "fail", sanitize_line(imported.error, 300))
    text = "; ".join(found.log.lines[:3])
    detail = f"{imported.version} in {imported.seconds:.1f} s" + (f"; it reports: {text}" if text else "")
    return Probe(name, "warn" if text else "ok", sanitize_line(detail, 500))


def _build(found: TensorFlow) -> Probe:
    name, built = "TensorFlow build", found.built
    if built is None:
        return Probe(name, "skip", UNREACHED)
    if not built.cuda:
        return Probe(name, "fail", "built without CUDA (is_cuda_build is False)")
    made = f"CUDA {built.cuda_version}, cuDNN {built.cudnn_version}, for {' '.join(built.architectures)}"
    return Probe(name, "ok", made)


def _list(found: TensorFlow) -> Probe:
    name, listed = "TensorFlow devices", found.listed
    if listed is None:
        imported = found.imported is not None and not found.imported.error
        return _silent(found, name) if imported else Probe(name, "skip", UNREACHED)
    if listed.error:
        return Probe(name, "fail", sanitize_line(listed.error, 300))
    if not listed.gpus:
        return Probe(name, "fail", "TensorFlow lists no GPU")
    plugged = ", a pluggable device of type GPU" if found.pluggable else ""
    names = ", ".join(
        f"{g.name} {g.description}{plugged}" + (f" ({g.compute_capability})" if g.compute_capability else "")
        for g in listed.gpus
    )
    return Probe(name, "ok", sanitize_line(names, 500))


def _work(found: TensorFlow, what: str) -> Probe:
    name = f"{what} on the GPU"
    tried = next((t for t in found.tried if t.what == what), None)
    if tried is None:
        if found.gpus and found.hung == what:
            return Probe(name, "fail", "did not answer in time")
        return Probe(name, "skip", UNREACHED if found.gpus else "no GPU to run it on")
    if tried.error:
        return Probe(name, "fail", sanitize_line(tried.error, 300))
    return Probe(name, "ok", f"{tried.seconds:.2f} s for the first call, on {tried.device}")
