"""Observes where an arm's ops run, and explains why.

`observe(context, case, arm)` runs the case under observation. Call it once per arm, after its first call has
been timed and never inside a timed block. Later calls are not affected.
"""

from typing import TYPE_CHECKING

from tuilab.model.arms import Arm
from tuilab.worker.placement import pipelines, registry
from tuilab.worker.placement.reasons import Surroundings
from tuilab.worker.placement.rows import Rows
from tuilab.worker.placement.summary import Observation, summarise
from tuilab.worker.placement.watch import watching
from tuilab.workloads.base import Case

if TYPE_CHECKING:
    from tuilab.worker.context import Context


def observe(context: "Context", case: Case, arm: Arm, *, hlo: bool = True) -> Observation:
    """Run `case.call` and report where its ops ran. Raises the errors of the call.

    hlo: inspect XLA programs, which compiles each one again. If eager ops copy tensors that the call did not
    create, the case runs twice, to distinguish copies in every call from one-time copies.
    """
    machine = context.machine
    around = Surroundings(
        gpus=tuple(d.name for d in machine.gpus),
        no_gpu=machine.no_gpu,
        gpu_kernels=registry.has_gpu_kernels(),
    )
    with case.scope(), watching() as seen:
        case.call()
    if residents := seen.residents():
        with case.scope(), watching(residents) as seen:
            case.call()
    for dataset in case.datasets:
        seen.pipelines |= {name: pipelines.body(name) for name in pipelines.functions(dataset)}
    return summarise(list(Rows(around, hlo).of(seen)), arm.device)
