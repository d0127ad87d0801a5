"""Where an arm's ops ran, as observed, and why there.

    observation = observe(context, case, arm)

runs the case under observation. Call it once for each arm, after its first call has been timed and
never inside a timed block; it leaves nothing behind that a later call would notice.
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
    """Run `case.call` and report if its ops ran. Raises whatever the call raises.

    hlo: look into XLA programs, which compiles each of them once more. If eager ops copy tensors that the
    call did not make, it runs twice, to tell the copies of each call from those that stand since the first.
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
