import gzip
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tests.conftest import Worker
from tests.report.test_trace import check_rules
from tuilab.cli import profile as command
from tuilab.cli.profile import inside, save
from tuilab.model import events, requests
from tuilab.model.arms import Arm
from tuilab.model.parameters import Value
from tuilab.model.profile import Profile, ProfileArm, ProfileFile
from tuilab.model.scenario import Scenario
from tuilab.report.trace import trace_json

pytestmark = pytest.mark.real_worker

LONG: dict[str, Value] = {"samples": 4_194_304, "filter": True}
Taken = tuple[Profile, list[ProfileFile]]


def take(worker: Worker, question: ProfileArm) -> Taken:
    answers = worker.ask("profile", question)
    files = [msgspec.json.decode(a.body, type=ProfileFile) for a in answers if a.kind == "ProfileFile"]
    return msgspec.json.decode(answers[0].body, type=Profile), files


def stft(mode: str, values: dict[str, Value] | None = None, **more: object) -> ProfileArm:
    arm = Arm("CPU:0", mode, "resident", "float32", "whole")  # type: ignore[arg-type]
    scenario = Scenario("stft", values or {})
    return ProfileArm(scenario=scenario, arm=arm, seconds=0.3, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def small(worker: Worker) -> Iterator[Taken]:
    yield take(worker, stft("graph", raw=True))


@pytest.mark.parametrize("mode", ["eager", "graph", "xla"])
def test_op_times_add_up_to_the_call_or_the_rest_is_named(worker: Worker, mode: str) -> None:
    for last in (False, False, True):
        profile, _ = take(worker, stft(mode, LONG))
        assert profile.step_s > 5e-3
        named = sum(part.seconds for part in profile.phases)
        assert named == pytest.approx(profile.measured_s)
        assert profile.account is not None and profile.account.total_s == profile.measured_s
        assert profile.ops_s == pytest.approx(sum(op.seconds for op in profile.ops), rel=1e-6)
        apart = abs(profile.ops_s - profile.measured_s) > 0.1 * profile.measured_s
        beside = {p.phase: p.share for p in profile.phases if p.phase not in ("compute", "input_wait")}
        heaviest = max(beside, key=lambda phase: beside[phase], default="")
        # If other processes use the processors for a while, the two profiled calls may differ from the
        # unprofiled ones.
        told = not apart or heaviest in profile.rest or "profile" in profile.rest
        assert told or not last, profile
        if told:
            break
    # For such a long signal, the kernels dominate, no matter what else the machine does.
    assert profile.account is not None and profile.account.share("compute") > 0.5


def test_small_graph_has_each_op_once_per_call(small: Taken) -> None:
    profile, _ = small
    counts = {op.op: op.count for op in profile.ops if op.phase == "compute"}
    assert counts["RFFT"] == pytest.approx(1.0)
    assert profile.calls >= 3 and profile.device == "CPU:0"
    assert {lane.device for lane in profile.lanes} == {"CPU"}
    assert profile.lanes[0].name == "python"
    assert profile.diagnosis and all(sentence.endswith(".") for sentence in profile.diagnosis)


def test_eager_call_is_mostly_dispatch_and_a_shortened_timeline_says_so(worker: Worker) -> None:
    profile, files = take(worker, stft("eager", spans=50))
    assert len(profile.spans) == 50 and profile.spans_left > 0
    shares = {part.phase: part.share for part in profile.phases}
    assert shares["dispatch"] + shares["python"] > shares["compute"]
    assert "dispatch" in profile.diagnosis[0]
    assert files == []


def test_input_pipeline_is_seen_waiting(worker: Worker) -> None:
    arm = Arm("CPU:0", "graph", "resident", "", "serial")
    values: dict[str, Value] = {"images": 64, "batch": 8, "host_cost": 500}
    question = ProfileArm(scenario=Scenario("input_pipeline", values), arm=arm, seconds=0.2)
    profile, _ = take(worker, question)
    shares = {part.phase: part.share for part in profile.phases}
    assert shares["input_wait"] > 0.5
    assert "input-bound" in profile.diagnosis[0]
    assert any(op.phase == "input" and op.busy_s > 0 for op in profile.ops)


def test_trace_of_a_real_profile_follows_the_format(small: Taken) -> None:
    profile, _ = small
    told = check_rules(trace_json(profile))
    assert any(event["name"] == "stft/rfft:RFFT" for event in told)
    assert len([event for event in told if event["ph"] == "X"]) == len(profile.spans)


def test_an_arm_not_on_this_machine_is_refused(worker: Worker) -> None:
    question = msgspec.structs.replace(stft("graph"), arm=Arm("GPU:9", "graph", variant="whole"))
    body = msgspec.Raw(msgspec.json.encode(question))
    worker.send(requests.Ask(id="profile-nowhere", kind="profile", body=body))
    while not isinstance(event := worker.next(), events.Refused):
        pass
    assert event.where == "arm" and "gpu9" in event.message


def test_folder_holds_the_trace_and_the_profile(small: Taken, tmp_path: Path) -> None:
    profile, files = small
    written = save(tmp_path, profile, files)
    assert written[0] == tmp_path / "trace.json"
    assert json.loads(written[0].read_bytes())["otherData"]["arm"] == profile.arm
    [found] = tmp_path.rglob("*.xplane.pb")
    assert found.parent.parent == tmp_path / "plugins" / "profile"
    assert found.read_bytes() == files[0].data != b""


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "plugins/../../x"])
def test_a_path_from_the_worker_stays_inside_the_folder(path: str, tmp_path: Path) -> None:
    assert (tmp_path / inside(path)).resolve().is_relative_to(tmp_path)


def test_command_writes_the_folder_and_prints_one_object(
    with_shared: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "with_lab", with_shared)
    done = CliRunner().invoke(
        command.profile, ["stft-small", "--json", "--seconds", "0.1", "-o", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    text = msgspec.json.decode(done.stdout, type=Profile)
    assert text.workload == "stft" and text.calls >= 3
    check_rules((tmp_path / "trace.json").read_bytes())
    assert len(list(tmp_path.glob("plugins/profile/*/*.xplane.pb"))) == 1


needs_tensorboard = pytest.mark.skipif(
    find_spec("tensorboard") is None or find_spec("tensorboard_plugin_profile") is None,
    reason="TensorBoard and its profile plug-in are not installed",
)


@needs_tensorboard
def test_tensorboard_lists_the_run(small: Taken, tmp_path: Path) -> None:
    save(tmp_path, *small)
    [found] = tmp_path.rglob("*.xplane.pb")
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path), "--port", "0"]
    board = subprocess.Popen([*command, "--load_fast=false"], stderr=subprocess.PIPE, text=True)
    try:
        assert board.stderr is not None
        for line in board.stderr:
            if address := re.search(r"http://\S+?:(\d+)/", line):
                break
        else:
            pytest.fail("TensorBoard did not start")
        url = f"http://localhost:{address[1]}/data/plugin/profile/runs"
        with urllib.request.urlopen(url, timeout=60) as answer:
            body = answer.read()
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        assert json.loads(body) == [found.parent.name]
    finally:
        board.terminate()
        board.wait(20)
