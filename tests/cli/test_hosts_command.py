"""`tuilab hosts`, over runs of other machines taken in with `tuilab history import`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuilab.history.recording import write
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Device, Machine
from tuilab.model.scenario import BUDGET, Scenario

CPU, GPU = Arm("CPU:0", "graph"), Arm("GPU:0", "graph")
MACHINES = {"laptop": ("2.21.0", 1e-3, 2e-3), "server": ("2.21.0", 2e-3, 1e-3), "old": ("2.20.0", 3e-3, 1e-3)}


def recording(file: Path, host: str) -> None:
    version, cpu_s, gpu_s = MACHINES[host]
    machine = Machine(
        host=host,
        cpu="c",
        cores=2,
        memory=1,
        os="o",
        python="3.11",
        tensorflow=version,
        devices=(Device("CPU:0"), Device("GPU:0", "a GPU")),
    )
    started = e.RunStarted(
        run=host,
        scenario=Scenario("stft", {"samples": 256}),
        arms=(CPU, GPU),
        points=(e.Point(0),),
        budget=BUDGET["quick"],
        machine=machine,
        at="2026-11-21T00:00:00Z",
        preset="stft-small",
    )
    rounds = [
        e.Round(
            run=host,
            index=index,
            blocks=(e.Block(CPU.id, 0, 1, cpu_s * (1 + 0.01 * (index % 3))), e.Block(GPU.id, 0, 1, gpu_s)),
            elapsed_s=1.0,
        )
        for index in range(20)
    ]
    write(file, [started, *rounds, e.Finished(run=host, status="ok")])


@pytest.fixture
def tuilab(tmp_path):
    environment = {**os.environ, "TUILAB_DATA": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path)}

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tuilab", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    return call


def test_machines_side_by_side_with_what_they_disagree_on(tuilab, tmp_path):
    assert tuilab("hosts").stderr == "no runs yet\n"
    for host in MACHINES:
        recording(tmp_path / f"{host}.jsonl", host)
        assert tuilab("history", "import", str(tmp_path / f"{host}.jsonl")).returncode == 0
    done = tuilab("hosts", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == 1
    (preset,) = answer["presets"]
    assert preset["preset"] == "stft-small"
    by_name = {row["machine"]: row for row in preset["machines"]}
    assert {name: row["fastest"] for name, row in by_name.items()} == {
        "laptop": "CPU graph",
        "server": "GPU graph",
        "old": "GPU graph",
    }
    assert by_name["old"]["unlike"] == ["TensorFlow 2.20.0"]
    assert by_name["laptop"]["unlike"] == []
    assert 0.9e-3 < by_name["laptop"]["cpu_s"] < 1.1e-3
    assert any("the faster device" in sentence for sentence in preset["disagreements"])
    text = tuilab("hosts").stdout
    assert "≠ the faster device: GPU on old and server; CPU on laptop" in text
    assert "! TensorFlow 2.20.0" in text
    found = json.loads(tuilab("hosts", "--json", "--search", "stft server").stdout)
    assert [row["machine"] for row in found["presets"][0]["machines"]] == ["server"]
    assert "nowhere" in tuilab("hosts", "--search", "nowhere").stderr
