"""Commands with another host, through real ssh and sshd: a run, a sweep, a cut connection, and each
failure.
"""

import json
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import calling
from tests.remote.server import FAKE, HERE, Sshd

SMALL = ("run", "stft-small", "--device", "CPU", "--mode", "graph", "--budget", "quick", "--json")
SWEEP = ("sweep", "stft-crossover", "--device", "CPU", "--axis", "samples=512:4k:x2", "--no-refine")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def tuilab(sshd: Sshd, data: Path):
    def call(*words: str, remote: str = HERE) -> calling.Done:
        return calling.run(data, *words, env=sshd.environment(data, remote))

    return call


@pytest.mark.smoke
@pytest.mark.real_worker
def test_arms_of_two_hosts_are_compared(tuilab):
    done = tuilab(*SMALL, "--host", "local", "--host", "gpu-07")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    arms = {arm["host"]: arm for arm in result["arms"]}
    assert set(arms) == set(result["machines"]) == {"", "gpu-07"}
    for arm in arms.values():
        assert (arm["status"], arm["device"]) == ("ok", "CPU:0")
        assert arm["n"] >= 20
    assert {(r["a"].partition("/")[0], r["b"].partition("/")[0]) for r in result["ratios"]}
    assert {claim["host"] for claim in result["claims"]} == {"", "gpu-07"}


@pytest.mark.real_worker
def test_a_dropped_connection_keeps_the_rounds_and_the_run_can_be_resumed(sshd, data, tuilab):
    words = (*SWEEP, "--budget", "quick", "--json", "--host", "gpu-07")
    process = calling.begun(data, *words, env=sshd.environment(data))
    while "measuring" not in process.stderr.readline():
        pass
    time.sleep(0.6)
    workers = workers_of(sshd.process.pid)
    for child in psutil.Process(process.pid).children():
        if child.name() == "ssh":
            child.send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, err
    assert "gpu-07: the connection dropped: ssh was killed by SIGKILL" in err
    result = json.loads(out)
    assert result["status"] == "failed"
    (measured, *_) = [arm for point in result["points"] for arm in point["arms"] if arm["n"]]
    assert measured["status"] == "ok"
    assert f"tuilab resume {result['run'][:8]}" in err
    gone(workers)
    assert any(point["arms"][0]["n"] == 0 for point in result["points"])

    done = tuilab("resume", result["run"][:8], "--json")
    assert done.returncode == 0, done.stderr
    whole = json.loads(done.stdout)
    assert (whole["run"], whole["status"]) == (result["run"], "ok")
    assert measured_points(whole) == len(whole["points"]) > measured_points(result)


def measured_points(result: dict) -> int:
    return sum(any(arm["n"] for arm in point["arms"]) for point in result["points"])


def workers_of(server: int) -> list[psutil.Process]:
    below = psutil.Process(server).children(recursive=True)
    found = [process for process in below if "tuilab.worker" in process.cmdline()]
    assert found
    return found


def gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not alive


@pytest.mark.parametrize(
    ("host", "remote", "says"),
    [
        ("closed", HERE, "closed: it cannot be reached"),
        ("nowhere", HERE, "nowhere: this host name is unknown"),
        ("unknown", HERE, "unknown: its host key is not known; run `ssh unknown` once"),
        ("changed", HERE, "changed: its host key has changed"),
        ("stranger", HERE, "stranger: it refused the login"),
        ("gpu-07", "tuilab-is-not-here", "`ssh gpu-07 python3 -m pip install tuilab`"),
        ("gpu-07", f"{sys.executable} {FAKE} foreign", "gpu-07: the worker of tuilab 0.0 speaks protocol 99"),
    ],
)
def test_each_failure_of_ssh_has_its_message(sshd, data, monkeypatch, host, remote, says):
    for name, value in sshd.environment(data, remote).items():
        monkeypatch.setenv(name, value)
    done = calling.here(*SMALL, "--host", host)
    assert (done.returncode, done.stdout) == (3, "")
    assert says in done.stderr and "Traceback" not in done.stderr
