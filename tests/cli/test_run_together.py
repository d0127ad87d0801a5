"""Two real workers measure devices at the same time. Two logical CPUs replace two GPUs."""

import json

import pytest

from tests import calling

WORDS = "run matmul-dtypes --dtype float32 --mode graph --set m=256 --device CPU:0 --device CPU:1 --together"


@pytest.mark.long  # by default, tests/emulated_gpu/test_commands.py::test_two_gpus_together covers this
@pytest.mark.real_worker
def test_each_device_is_measured_alone_and_together_with_the_other(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_LOGICAL_CPUS", "2")
    done = calling.run(tmp_path, *WORDS.split(), "--budget", "quick", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    arms = {arm["id"]: arm for arm in result["arms"]}
    assert len(arms) == 4
    for arm in arms.values():
        assert (arm["status"], arm["device"]) == ("ok", arm["requested_device"])
        assert arm["n"] >= 2
    assert {line["device"] for line in result["contention"]} == {"CPU:0", "CPU:1"}
    for line in result["contention"]:
        assert line["alone_s"] == arms[line["arm"]]["median_s"]
        assert line["together_s"] == arms[line["arm"] + ".together"]["median_s"]
        assert line["ci95"][0] <= line["ratio"] <= line["ci95"][1]
