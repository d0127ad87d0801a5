"""If a call hangs, the worker ends the run, even if no process reads its events."""

import json
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from tuilab.model.arms import Arm
from tuilab.model.events import PROTOCOL
from tuilab.model.requests import Measure, encode
from tuilab.model.scenario import BUDGET, Scenario
from tuilab.spool import DONE, file_of

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]

WORKER = """
import sys
from tuilab.worker.channel import Channel
channel = Channel.from_stdio()
from tuilab.worker import hang
hang.HANG_S, hang.LOOK_S = float(sys.argv[1]), 0.5
from tuilab.worker.main import main
raise SystemExit(main(channel))
"""
OWN = """
import threading
import time

def hangs():
    return (lambda: threading.Event().wait()), ()

def returns(seconds: float = 0.3):
    return (lambda: time.sleep(seconds)), ()
"""


def worker(limit_s: float = 4.0) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(limit_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip


def asked(folder: Path, name: str, **more: Any) -> Measure:
    (folder / "own.py").write_text(OWN)
    scenario = Scenario("own", {}, f"{folder}/own.py:{name}")
    run = uuid.uuid4().hex
    return Measure(id=run, scenario=scenario, arms=(Arm("CPU:0", "eager"),), budget=BUDGET["quick"], **more)


def ending(lines: bytes) -> dict[str, Any]:
    [last] = [event for line in lines.splitlines() if (event := json.loads(line))["type"] == "finished"]
    return last


def test_a_call_that_hangs_ends_its_run(tmp_path: Path) -> None:
    with worker() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(encode(asked(tmp_path, "hangs")))
        process.stdin.flush()
        found = ending(process.stdout.read())
    assert found["status"] == "failed" and "the call did nothing for " in found["message"]


def test_a_run_without_a_reader_too(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    request = asked(tmp_path, "hangs", spool=str(spool))
    with worker() as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(encode(request))
        process.stdin.flush()
        while b'"run-started"' not in process.stdout.readline():
            pass
        process.stdin.close()
        process.stdout.close()
        assert process.wait(60) == 0
    lines = file_of(spool, request.id, DONE).read_bytes()
    assert json.loads(lines.splitlines()[0])["protocol"] == PROTOCOL
    assert "the call did nothing for " in ending(lines)["message"]


def test_calls_that_only_take_long_are_measured(tmp_path: Path) -> None:
    """The run is longer than the limit and uses no processor time, but it sends events."""
    begun = time.monotonic()
    with worker(limit := 8.0) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(encode(asked(tmp_path, "returns")))
        process.stdin.flush()
        while (event := json.loads(process.stdout.readline()))["type"] != "finished":
            pass
        process.stdin.close()
    assert event["status"] == "ok" and time.monotonic() - begun > limit, event
