import json

from tests.calling import here
from tests.made import CPU, GPU, GPU_GRAPH, GRAPH, machine, started
from tuilab.history.recording import write
from tuilab.model import events as e

MACHINES = {"laptop": ("2.21.0", 1e-3, 2e-3), "server": ("2.21.0", 2e-3, 1e-3), "old": ("2.20.0", 3e-3, 1e-3)}


def recorded(host: str) -> list[e.Event]:
    version, cpu_s, gpu_s = MACHINES[host]
    own = machine(host=host, tensorflow=version, devices=(CPU, GPU))
    events: list[e.Event] = [started(host, GRAPH, GPU_GRAPH, machine=own)]
    for index in range(20):
        costs = {GRAPH: cpu_s * (1 + 0.01 * (index % 3)), GPU_GRAPH: gpu_s}
        blocks = tuple(e.Block(arm.id, 0, 1, cost) for arm, cost in costs.items())
        events.append(e.Round(run=host, index=index, blocks=blocks, elapsed_s=1.0))
    return [*events, e.Finished(run=host, status="ok")]


def test_machines_are_compared_with_their_disagreements(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    assert here("hosts").stderr == "no runs yet\n"
    for host in MACHINES:
        write(tmp_path / f"{host}.jsonl", recorded(host))
        assert here("history", "import", str(tmp_path / f"{host}.jsonl")).returncode == 0
    answer = json.loads(here("hosts", "--json").stdout)
    assert answer["schema"] == 1
    (preset,) = answer["presets"]
    assert preset["preset"] == "stft-small"
    by_name = {row["machine"]: row for row in preset["machines"]}
    fastest = {"laptop": "CPU graph", "server": "GPU graph", "old": "GPU graph"}
    assert {name: row["fastest"] for name, row in by_name.items()} == fastest
    assert (by_name["old"]["unlike"], by_name["laptop"]["unlike"]) == (["TensorFlow 2.20.0"], [])
    assert 0.9e-3 < by_name["laptop"]["cpu_s"] < 1.1e-3
    assert any("the faster device" in sentence for sentence in preset["disagreements"])
    text = here("hosts").stdout
    assert "≠ the faster device: GPU on old and server; CPU on laptop" in text
    assert "! TensorFlow 2.20.0" in text
    found = json.loads(here("hosts", "--json", "--search", "stft server").stdout)
    assert [row["machine"] for row in found["presets"][0]["machines"]] == ["server"]
    assert "nowhere" in here("hosts", "--search", "nowhere").stderr
