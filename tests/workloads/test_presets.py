"""Every example in the documents has a bundled preset, and every preset runs on a host without a GPU."""

import uuid

import msgspec
import pytest

from tests.conftest import fold
from tuilab import catalogue
from tuilab.analysis.verdicts import judge
from tuilab.lab.settings import Settings
from tuilab.model.arms import ArmSelection
from tuilab.model.claims import Claim, Faster
from tuilab.model.expand import expand
from tuilab.model.parameters import check_values
from tuilab.model.points import grid
from tuilab.model.requests import Measure
from tuilab.model.scenario import Budget, Scenario
from tuilab.paths import shipped_folder
from tuilab.workloads import find

FOUND = catalogue.load(shipped_folder())
PRESETS = {preset.name: preset for preset in FOUND.presets}
TOUCH = Budget(name="quick", warm_s=0.0, warm_limit_s=0.05, precision=1.0, rounds=2, limit_s=0.2)
"""A budget long enough to build and time every arm twice, but too short for a figure."""

SMALLER = {
    "contention": {"side": 128},
    "gpu-preprocessing": {"images": 32, "side": 32, "batch": 8, "filters": 4},
    "gpu-training-slower": {"images": 32, "side": 32, "batch": 8, "filters": 4},
    "mixed-precision": {"images": 32, "side": 32, "batch": 8, "filters": 4},
    "python-loop": {"images": 32, "side": 32, "batch": 8},
    "tfrecord": {"images": 32, "side": 32, "batch": 8},
    "many-copies": {"bytes": 2**20},
    "matmul-dtypes": {"m": 128, "k": 128, "n": 128},
    "parallel-augmentation": {"images": 32, "side": 32, "batch": 8},
    "sequential-work": {"ops": 50},
    "serial-augmentation": {"images": 32, "side": 32, "batch": 8},
    "saturated-cpu": {"images": 32, "side": 32, "batch": 8, "filters": 4, "host_cost": 100},
    "kept-block": {"m": 128, "k": 128, "n": 128},
    "idle-behind-copies": {"m": 256, "k": 256},
    "slow-map": {"images": 32, "side": 32, "batch": 8, "filters": 4, "host_cost": 100},
    "tensor-cores": {"m": 127, "k": 127, "n": 127},
    "tiny-ops": {"ops": 20},
    "too-large-tensor": {"bytes": 2**25, "step": 2**23},
}
"""Smaller values with which a preset shows the same effect in a tenth of the time."""

OBSERVED = {
    ("stft-pipeline", 2): "refuted",  # tf.signal.lfilter does not exist
    ("python-in-map", 0): "refuted",  # Python code is traced only once
    ("host-op-in-chain", 0): "confirmed",  # an op without a GPU kernel
    ("float64-matmul", 0): "undecided",  # the kernel exists, but the article only says "might"
    ("int32-matmul", 0): "confirmed",  # the kernel is missing
    ("too-large-tensor", 0): "refuted",  # ResourceExhaustedError is not a RuntimeError
    ("host-compression", 2): "confirmed",  # decompression has no GPU kernel
    ("host-compression", 3): "refuted",  # tf.io.compress does not exist
    ("gpu-compression", 0): "confirmed",  # decompression has no GPU kernel
    ("gpu-compression", 2): "refuted",  # gen_custom_ops does not exist
    ("device-memory", 0): "refuted",  # the function takes a name, not an object
    ("device-memory", 1): "refuted",  # the result has the keys `current` and `peak`
    ("stft-windows", 0): "undecided",  # every window's ops have GPU kernels, but the article only says "may"
    ("string-ops", 0): "confirmed",  # no GPU kernel
    ("string-ops", 1): "confirmed",
}
"""Verdicts on claims that need neither a GPU nor a figure, by preset and claim."""


ALIKE = {
    # training is covered by the preset mixed-precision, which runs by default
    "gpu-preprocessing", "slow-map", "serial-augmentation", "gpu-training-slower",
    "saturated-cpu", "kept-block", "idle-behind-copies", "stft-cpu-first",
    "parallel-augmentation", "tfrecord",  # pipelines are covered by python-loop and python-in-map
}  # fmt: skip
"""Presets whose arms each take half a second to build. They run only in long mode, because other presets
cover their workloads.
"""


def test_all_presets_load():
    assert not FOUND.problems
    assert len(PRESETS) >= 20


def test_every_example_and_some_prose_of_each_document_has_a_preset():
    pairs = {(p.source.document, p.source.example) for p in PRESETS.values() if p.source}
    assert pairs >= {(f"00{d}", e) for d in range(5) for e in (1, 2, 3)}
    assert pairs >= {("000", 0), ("001", 0), ("002", 0), ("004", 0)}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_claim_and_fault_and_advice(name):
    preset = PRESETS[name]
    assert preset.claims and preset.wrong and preset.advice and preset.summary
    assert len(preset.title) <= 50
    assert preset.source is None or preset.source.example == 0 or preset.source.lines
    assert all(claim.text.endswith(".") for claim in preset.claims)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_a_cpu_arm_and_modest_defaults(name):
    preset = PRESETS[name]
    workload = find(preset.workload)
    values = Settings.of(preset).values
    assert workload.memory is not None and workload.memory(values) < 2 * 10**9
    arms = expand(preset.arms, workload.declaration, values, ("CPU:0",))
    assert any(arm.device == "CPU:0" for arm in arms)


def measured(worker, name, smaller=SMALLER, arms=lambda arm: True, budget=TOUCH, points=None, phases=False):
    preset = PRESETS[name]
    declaration = find(preset.workload).declaration
    known = {p.name for p in declaration.parameters}
    changes = {k: v for k, v in smaller.get(name, {}).items() if k in known}
    values = Settings.of(preset).with_values(changes).scenario
    devices = [device.name for device in worker.machine.devices if device.name != "CPU:1"]
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=values,
        arms=tuple(arm for arm in expand(preset.arms, declaration, values.parameters, devices) if arms(arm)),
        budget=budget,
        preset=name,
        sweep=preset.sweep,
        points=grid(preset.sweep)[:points] if preset.sweep and points else (),
        phases=phases,
        latency=False,
    )
    return fold(worker.measure(request))


def cpus_decide(claim: Claim) -> bool:
    when = claim.when
    return isinstance(when, Faster) and not any(arm.device.startswith("GPU") for arm in (when.a, when.b))


@pytest.mark.real_worker
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in ALIKE else name for name in PRESETS]
)
def test_every_cpu_arm_runs_here_and_no_other_arm_has_a_figure(worker, name):
    state = measured(worker, name)
    assert state.status == "ok", state.detail
    for arm in state.arms.values():
        cell = arm.cell()
        if arm.arm.device == "CPU:0":
            assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
            assert cell.samples and arm.device == "CPU:0"
        elif not worker.machine.gpus:
            assert arm.status == "unavailable" and "GPU" in arm.reason
            assert not cell.samples and arm.device is None
    assert not any(f.code == "does-not-compute" for arm in state.arms.values() for f in arm.flags)
    for index, claim in enumerate(PRESETS[name].claims):
        verdict = judge(claim, state)
        assert verdict.evidence.endswith(".")
        if (name, index) in OBSERVED:
            assert verdict.verdict == OBSERVED[name, index], verdict.evidence
        elif not cpus_decide(claim) and not worker.machine.gpus:
            assert verdict.verdict == "untestable" and "No GPU is visible" in verdict.evidence, claim.text


def test_a_preset_is_data():
    text = msgspec.json.encode(PRESETS["stft-small"])
    assert msgspec.json.decode(text, type=type(PRESETS["stft-small"])) == PRESETS["stft-small"]


@pytest.mark.real_worker
@pytest.mark.parametrize("direction", ["to device", "to host", "both"])
def test_a_copy_names_the_device_at_its_other_end(worker, direction):
    declaration = find("copies").declaration
    given = {"bytes": 2**20, "pieces": 4, "direction": direction}
    values = check_values(declaration.parameters, declaration.constraints, given)
    arms = expand(ArmSelection(devices=("CPU",)), declaration, values, ("CPU:0", "CPU:1"))
    request = Measure(id=uuid.uuid4().hex, scenario=Scenario("copies", values), arms=arms, budget=TOUCH)
    state = fold(worker.measure(request))
    assert {arm.device for arm in state.arms.values()} == {"CPU:0", "CPU:1"}
    assert all(arm.status == "ok" and arm.device == arm.arm.device for arm in state.arms.values())
