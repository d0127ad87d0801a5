"""From findings to a cause: a table of rules, tried in order. Each rule is pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuilab.doctor.findings import Findings
from tuilab.doctor.rules import at_work, driver, install, visibility
from tuilab.model.doctor import Diagnosis

Judge = Callable[[Findings], Diagnosis | None]


@dataclass(frozen=True)
class Rule:
    """layer: of each layer only the first cause is told, since later ones follow from it."""

    layer: str
    judge: Judge


NO_GPU = (
    Rule("python", install.not_installed),
    Rule("python", install.does_not_import),
    Rule("python", install.no_cuda_build),
    Rule("hidden", visibility.job_without_gpu),
    Rule("hidden", visibility.hidden_by_environment),
    Rule("driver", driver.stub_library),
    Rule("driver", driver.does_not_answer),
    Rule("driver", driver.mismatch),
    Rule("driver", driver.forward_compatibility),
    Rule("driver", driver.too_old),
    Rule("driver", driver.not_ready),
    Rule("driver", driver.device_files_denied),
    Rule("driver", driver.wedged),
    Rule("driver", visibility.container_without_gpu),
    Rule("driver", driver.user_space_missing),
    Rule("driver", driver.missing),
    Rule("driver", driver.no_device),
    Rule("driver", driver.other_failure),
    Rule("hidden", visibility.hidden_as_well),
    Rule("nvml", driver.nvml_missing),
    Rule("libraries", install.cuda_wheels_missing),
    Rule("libraries", install.cuda_libraries_missing),
    Rule("search path", install.not_where_tensorflow_looks),
    Rule("device", visibility.gpu_too_old),
    Rule("device", visibility.too_few_cores),
    Rule("silent", install.tensorflow_silent),
    Rule("unknown", visibility.unexplained),
)
"""Why TensorFlow lists no GPU. The order is that in which things must be mended."""

WITH_GPU = (
    Rule("device", at_work.gpu_older_than_build),
    Rule("device", at_work.driver_too_old_for_ptx),
    Rule("device", at_work.out_of_memory),
    Rule("device", at_work.cudnn),
    Rule("device", at_work.xla_toolchain),
    Rule("device", at_work.gpu_newer_than_build),
    Rule("device", at_work.work_silent),
    Rule("device", at_work.work_fails),
    Rule("device", at_work.well),
)
"""TensorFlow lists a GPU: does it also work?"""


def diagnose(findings: Findings) -> tuple[Diagnosis, ...]:
    """The cause first, then what else would stand in the way once it is mended. Never empty."""
    return _apply(WITH_GPU if findings.gpus else NO_GPU, findings)


def _apply(rules: Sequence[Rule], findings: Findings) -> tuple[Diagnosis, ...]:
    found: dict[str, Diagnosis] = {}
    for rule in rules:
        if rule.layer in found or (rule.layer in ("silent", "unknown") and found):
            continue
        diagnosis = rule.judge(findings)
        if diagnosis is not None:
            found[rule.layer] = diagnosis
    return tuple(found.values())
