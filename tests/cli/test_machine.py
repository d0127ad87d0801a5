import json
import os
from pathlib import Path

import pytest

from tests import calling
from tuilab.model.roofline import BUSY


@pytest.mark.real_worker
def test_a_machine_is_measured_once_and_used_in_the_next_run(tmp_path: Path) -> None:
    # measure this test's own roofs instead of using the shared ones
    own = {"env": {**os.environ, "TUILAB_DATA": str(tmp_path)}}
    first = calling.run(tmp_path, "machine", "--seconds", "0.5", "--json", **own)
    assert first.returncode == 0, first.stderr
    roofs = json.loads(first.stdout)["roofs"]
    device = roofs["devices"]["CPU:0"]
    assert device["triad"] > 0 and set(device["launch_s"]) == {"eager", "graph", "xla"}
    assert {"float32", "float64", "bfloat16"} <= set(device["peaks"])
    words = ("run", "float64-matmul", "--budget", "quick", "--mode", "graph", "--against", "t4", "--json")
    # The bound for the preset's 2 × 2 product is below 1 µs, too short for an answer to mention.
    size = [word for axis in "mkn" for word in ("--set", f"{axis}=512")]
    run = calling.run(tmp_path, *words, *size, **own)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    # Roofs from a busy machine are measured again once it is quiet.
    if roofs["others"] <= BUSY:
        assert "measuring this machine" not in run.stderr, run.stderr
        assert [r["at"] for r in result["roofs"]] == [roofs["at"]]
    assert {bound["gpu"] for bound in result["bounds"]} == {"t4"} and "T4" in result["answer"]
    measured = [arm for arm in result["arms"] if arm["median_s"]]
    assert all(arm["roof"]["flop"] == 2 * 512**3 and arm["roof"]["bound_by"] for arm in measured)
    assert not [arm for arm in result["arms"] if arm["device"] and "GPU" in arm["device"]]
