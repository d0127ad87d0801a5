"""The option `--on` as a user types it, with real workers on the two nodes of a local Dask cluster."""

import json
import signal
import sys

import pytest

from tests import calling

pytest.importorskip("distributed", reason="the extra `fleet` (dask[distributed]) is not installed")

from tests.fleet.test_dask import two_nodes

SWEEP = ("sweep", "stft-small", "--device", "CPU", "--mode", "graph", "--budget", "quick", "--json")


@pytest.fixture(scope="module")
def address():
    with two_nodes() as cluster:
        yield cluster.scheduler_address


@pytest.mark.real_worker
def test_a_sweep_over_real_workers(address, tmp_path):
    done = calling.run(tmp_path, *SWEEP, "--axis", "samples=256,512", "--no-refine", "--on", address)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [point["values"]["samples"] for point in result["points"]] == [256, 512]
    for point in result["points"]:
        (arm,) = point["arms"]
        assert (arm["status"], arm["n"] >= 2) == ("ok", True)
        assert point["host"] in result["machines"]
    assert len(result["machines"]) == 2
    assert "" not in result["machines"]
    assert {"[2 of 2]", "[0 of 2]"} <= {line[:8] for line in done.stderr.splitlines()}


@pytest.mark.long
@pytest.mark.real_worker
def test_verdicts_over_real_workers(address, tmp_path):
    done = calling.run(tmp_path, "verdicts", "python-in-map", "float64-matmul", "--json", "--on", address)
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)
    assert list(dict.fromkeys(line["preset"] for line in lines)) == ["python-in-map", "float64-matmul"]
    assert {line["verdict"] for line in lines} <= {"confirmed", "refuted", "undecided", "untestable"}


@pytest.mark.long
@pytest.mark.real_worker
def test_ctrl_c_stops_the_nodes_and_keeps_the_measurements(address, tmp_path):
    process = calling.begun(tmp_path, *SWEEP, "--axis", "samples=256:1M:x2", "--on", address)
    for line in process.stderr:
        if line.startswith("[2 of "):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    result = json.loads(out)
    assert result["status"] == "cancelled"
    assert sum(bool(point["arms"][0]["n"]) for point in result["points"]) >= 2


@pytest.mark.parametrize(
    ("missing", "on", "says"),
    [("dask_jobqueue", "slurm", "pip install dask-jobqueue"), ("dask", "tcp://h:1", "tuilab[fleet]")],
)
def test_a_missing_package_is_named(monkeypatch, missing, on, says):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "tuilab.fleet.dask_grid", raising=False)
    done = calling.here(*SWEEP, "--on", on)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
