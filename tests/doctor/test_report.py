import json

import pytest
from click.testing import CliRunner

from tests.doctor.machine import Machine
from tuilab.cli.doctor import doctor
from tuilab.model.doctor import Cause, DoctorReport, Probe
from tuilab.report.doctor import doctor_text

REPORT = DoctorReport(
    gpu_visible=False,
    code="hidden",
    cause="CUDA_VISIBLE_DEVICES='-1' hides every GPU from this process; without it, the driver finds 1 GPU",
    mend="unset CUDA_VISIBLE_DEVICES",
    further=(Cause("cuda-wheels-missing", "the CUDA runtime wheel is missing", "pip install x"),),
    probes=(
        Probe("packages", "ok", "tensorflow 2.21.0; 8 NVIDIA wheels"),
        Probe("libcuda unhidden", "fail", "cuInit returned CUDA_ERROR_NO_DEVICE (100); " + "long " * 30),
    ),
)


def test_the_cause_and_its_fix_come_first():
    lines = doctor_text(REPORT, 80).splitlines()
    assert lines[0] == "GPU     not visible to TensorFlow"
    assert lines[1].startswith("cause   CUDA_VISIBLE_DEVICES='-1' hides every GPU")
    assert lines[3] == "fix     unset CUDA_VISIBLE_DEVICES"
    assert "then    the CUDA runtime wheel is missing" in lines


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_the_table_is_aligned_at_every_width(width: int):
    lines = doctor_text(REPORT, width).splitlines()
    at = lines.index(next(line for line in lines if line.startswith("ok ")))
    table = lines[at:]
    column = table[0].index("tensorflow")
    second = next(i for i, line in enumerate(table) if line.startswith("fail "))
    assert table[second].index("cuInit") == column
    assert all(line[:column].strip() == "" for i, line in enumerate(table) if i not in (0, second))
    assert all(len(line) <= max(width, 60) for line in table)


def test_json_has_the_fields_that_scripts_rely_on(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.healthy()
    machine.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    monkeypatch.setattr("tuilab.doctor.examine.Place", machine.place)
    done = CliRunner().invoke(doctor, ["--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["gpu_visible"], found["mend"]) == (False, "unset CUDA_VISIBLE_DEVICES")
    assert found["cause"].startswith("CUDA_VISIBLE_DEVICES='-1'")
    assert {"name", "status", "detail"} == set(found["probes"][0])
    assert {p["status"] for p in found["probes"]} <= {"ok", "warn", "fail", "skip"}


def test_the_text_names_every_probe(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    machine.healthy()
    machine.sees()
    monkeypatch.setattr("tuilab.doctor.examine.Place", machine.place)
    done = CliRunner().invoke(doctor, [])
    assert done.exit_code == 0, done.output
    assert "visible to TensorFlow" in done.stdout.splitlines()[0]
    for name in ("packages", "kernel driver", "libcuda", "CUDA libraries", "devices", "XLA on the GPU"):
        assert f" {name} " in done.stdout
