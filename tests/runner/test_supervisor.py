"""The supervisor keeps a worker ready, stops it on request, and replaces it when it dies."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tuilab.model.arms import Arm
from tuilab.model.events import (
    Answer,
    Event,
    Finished,
    Log,
    Progress,
    Ready,
    Refused,
    Round,
    RunStarted,
    WorkerExited,
)
from tuilab.model.requests import Ask, Declare, Measure
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep
from tuilab.runner.parts import following, parts, processes
from tuilab.runner.supervisor import Supervisor

FAKE = str(Path(__file__).with_name("fake_worker.py"))

STANDARD = BUDGET["standard"].workers


def measure(run: str = "r", budget: str = "quick") -> Measure:
    return Measure(id=run, scenario=Scenario("stft", {}), arms=(), budget=BUDGET[budget])


class Rig:
    def __init__(self, behaviour: str) -> None:
        self.events: list[Event] = []
        self.supervisor = Supervisor(self.events.append, [sys.executable, FAKE, behaviour])

    async def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not true():
                await asyncio.sleep(0.005)

    def of(self, kind: type) -> list:
        return [e for e in self.events if isinstance(e, kind)]

    async def ready(self, times: int = 1) -> None:
        await self.until(lambda: len(self.of(Ready)) >= times)


@pytest.fixture
async def rig(request):
    rig = Rig(request.param)
    await rig.supervisor.start()
    yield rig
    await rig.supervisor.close()


def behaves(name: str):
    return pytest.mark.parametrize("rig", [name], indirect=True)


def exists(pid: int) -> bool:
    """Return True if the process runs. A process that has ended but has not been reaped does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@behaves("good")
async def test_a_run_requested_before_the_worker_is_ready_starts_once_it_is(rig):
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished))
    assert rig.of(Finished)[0].status == "ok"
    assert rig.supervisor.machine.cores == 2
    assert rig.supervisor.phase == "ready"


@behaves("good")
async def test_a_budget_of_several_processes_uses_them_in_turn(rig):
    await rig.supervisor.measure(measure(budget="standard"))
    await rig.until(lambda: rig.of(Finished))
    assert [f.message for f in rig.of(Finished)] == [f"worker {STANDARD - 1}"]
    assert len(rig.of(Ready)) == STANDARD
    assert all(e.expected for e in rig.of(WorkerExited))


@behaves("good")
async def test_a_further_process_requested_later_is_a_fresh_one(rig):
    await rig.supervisor.measure(measure())
    await rig.until(lambda: len(rig.of(Finished)) == 1)
    await rig.supervisor.measure(replace(measure(), worker=1))
    await rig.until(lambda: len(rig.of(Finished)) == 2)
    assert [started.worker for started in rig.of(RunStarted)] == [0, 1]
    assert len(rig.of(Ready)) == 2 and all(e.expected for e in rig.of(WorkerExited))
    # A ready worker that has measured nothing is not replaced.
    await rig.supervisor.renew()
    await rig.ready(3)
    await rig.supervisor.measure(replace(measure(), worker=2))
    await rig.until(lambda: len(rig.of(Finished)) == 3)
    assert len(rig.of(Ready)) == 3


@behaves("a gpu")
async def test_tf32_arms_are_measured_in_a_separate_process(rig):
    """In a shared process, one arm's convolution would use the plan that cuDNN chose for the other arm."""
    arms = tuple(Arm("GPU:0", "graph", dtype=dtype) for dtype in ("float32", "tf32", "float16"))
    await rig.supervisor.measure(replace(measure(budget="standard"), arms=arms))
    await rig.until(lambda: rig.of(Finished))
    assert [started.worker for started in rig.of(RunStarted)] == list(range(STANDARD))
    assert {started.arms for started in rig.of(RunStarted)} == {arms}
    measured = [tuple(block.arm.rpartition(".")[2] for block in e.blocks) for e in rig.of(Round)[::3]]
    assert measured == [("float32", "float16"), ("tf32",)] * STANDARD
    assert len(rig.of(Ready)) == 2 * STANDARD and len(rig.of(Finished)) == 1


@behaves("a gpu")
async def test_runs_without_tf32_and_sweeps_stay_in_one_process(rig):
    await rig.ready()
    tf32, full, half = (Arm("GPU:0", "graph", dtype=dtype) for dtype in ("tf32", "float32", "float16"))
    elsewhere = Arm("GPU:1", "graph", dtype="tf32")
    machine, sweep = rig.supervisor.machine, Sweep(axes=(Axis("samples", (1, 2)),))
    one = measure()
    assert parts(replace(one, arms=(tf32, half, full)), machine) == ((half, full), (tf32,))
    together = replace(tf32, together=True)
    wholes = [
        replace(one, arms=arms) for arms in ((tf32,), (tf32, half), (elsewhere, full), (together, full))
    ]
    for whole in (*wholes, replace(one, arms=(tf32, full), sweep=sweep)):
        assert parts(whole, machine) == (whole.arms,) and following(whole, machine) is None


@behaves("slow")
async def test_a_run_that_obeys_a_stop_keeps_its_worker(rig):
    await rig.ready()
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.supervisor.phase == "busy")
    await rig.supervisor.cancel("r")
    assert [f.status for f in rig.of(Finished)] == ["cancelled"]
    assert not rig.of(WorkerExited)


@behaves("hangs")
async def test_a_worker_whose_call_does_not_return_is_killed_with_its_children_and_replaced(rig):
    await rig.ready()
    await rig.supervisor.measure(measure())
    await rig.until(lambda: any("child" in e.text for e in rig.of(Log)))
    child = int(next(e.text for e in rig.of(Log) if "child" in e.text).split()[1])
    begun = time.monotonic()
    await rig.supervisor.cancel("r")
    await rig.until(lambda: rig.of(Finished))
    # This limit is a guarantee to users, not a measurement of this machine.
    assert time.monotonic() - begun < 2.5
    assert [f.status for f in rig.of(Finished)] == ["cancelled"]
    await rig.until(lambda: not exists(child))
    await rig.ready(2)
    assert rig.supervisor.phase == "ready"


@behaves("dies")
async def test_a_worker_that_dies_fails_its_run_and_is_replaced(rig):
    await rig.ready()
    await rig.supervisor.measure(measure())
    await rig.ready(2)
    assert rig.of(Finished)[0].status == "failed"
    assert "SIGSEGV" in rig.of(Finished)[0].message


@behaves("stillborn")
async def test_a_worker_that_cannot_start_is_not_restarted_forever(rig):
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished))
    assert "no such library" in rig.of(Finished)[0].message
    assert len(rig.of(WorkerExited)) == 1
    assert rig.supervisor.phase == "down"


@behaves("foreign")
async def test_another_protocol_is_refused_with_both_versions(rig):
    await rig.supervisor.measure(measure())
    await rig.until(lambda: rig.of(Finished))
    assert "protocol 99" in rig.of(Refused)[0].message
    await rig.until(lambda: rig.supervisor.phase == "down")


@behaves("noisy")
async def test_noise_becomes_clean_log_lines_and_the_worker_continues(rig):
    await rig.ready()
    log = rig.of(Log)
    assert any(e.level == "warning" and e.text.endswith("[@click=bad]careful") for e in log)
    assert not any("\x1b" in e.text or "\x07" in e.text for e in log)
    assert sum("not an event" in e.text for e in log) == 2


@behaves("slow")
async def test_a_waiting_run_can_be_cancelled(rig):
    await rig.ready()
    await rig.supervisor.measure(measure("first"))
    await rig.supervisor.measure(measure("second"))
    await rig.supervisor.cancel("second")
    assert [(f.run, f.status) for f in rig.of(Finished)] == [("second", "cancelled")]


@behaves("dies")
async def test_a_question_to_a_worker_that_dies_is_answered_with_the_reason(rig):
    await rig.ready()
    await rig.supervisor.send(Ask(id="q", kind="anything", body=msgspec.Raw(b"{}")))
    await rig.until(lambda: rig.supervisor.phase == "busy")
    os.kill(rig.supervisor._process.pid, 9)
    await rig.until(lambda: rig.of(Refused))
    assert "SIGKILL" in rig.of(Refused)[0].message


async def test_a_worker_that_is_ready_just_when_it_is_replaced_gets_no_question():
    heard: list[Event] = []
    supervisor = Supervisor(heard.append, [sys.executable, FAKE, "late"], env={})
    await supervisor.start()
    body = msgspec.json.encode({"scenario": Scenario("own", {}, "model.keras")})
    async with asyncio.timeout(60):
        while supervisor._process is None:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)  # by now, the supervisor is waiting for the worker to exit
        await supervisor.send(Ask(id="q", kind="any", body=msgspec.Raw(body)))
        while not any(isinstance(event, Answer | Refused) for event in heard):
            await asyncio.sleep(0.01)
    assert [event for event in heard if isinstance(event, Refused)] == []
    await supervisor.close()


@behaves("good")
async def test_progress_of_loading_a_model_reaches_the_caller(rig):
    await rig.ready()
    await rig.supervisor.send(Declare(id="q", file="model.keras"))
    await rig.until(lambda: rig.of(Refused))
    assert [(e.run, e.stage) for e in rig.of(Progress)] == [("q", "reading 2.1 GB of weights")]


@behaves("own code")
async def test_a_worker_in_which_own_code_raised_is_replaced(rig):
    await rig.ready()
    own = Scenario("mine", {}, file="mine.py:step")
    await rig.supervisor.measure(msgspec.structs.replace(measure("own"), scenario=own))
    await rig.supervisor.measure(measure("next"))
    await rig.until(lambda: len(rig.of(Finished)) == 2)
    assert [f.run for f in rig.of(Finished)] == ["own", "next"]
    assert [e.expected for e in rig.of(WorkerExited)] == [True]
    assert len(rig.of(Ready)) == 2


@behaves("good")
@pytest.mark.parametrize(
    ("grown", "file", "workers"), [(2**40, "", 1), (-(2**40), "", 2), (-(2**40), "m.keras", 1)]
)
async def test_a_worker_that_has_grown_is_replaced_after_its_run(rig, monkeypatch, grown, file, workers):
    """A worker whose memory has grown is kept only if a model file is open, which a fresh worker would have
    to read again.
    """
    monkeypatch.setattr("tuilab.runner.supervisor.GROWN", grown)
    await rig.ready()
    scenario = Scenario("stft", {}, file=file)
    await rig.supervisor.measure(msgspec.structs.replace(measure("r"), scenario=scenario))
    await rig.until(lambda: rig.of(Finished) and rig.supervisor.phase == "ready")
    await rig.ready(workers)
    assert len(rig.of(Ready)) == workers and [f.status for f in rig.of(Finished)] == ["ok"]
    assert all(e.expected for e in rig.of(WorkerExited))


@behaves("good")
async def test_closing_leaves_no_process(rig):
    await rig.ready()
    pid = rig.supervisor._process.pid
    await rig.supervisor.close()
    assert not exists(pid)


async def test_a_command_that_does_not_exist_is_an_oserror():
    supervisor = Supervisor(lambda event: None, ["/no/such/program"])
    with pytest.raises(OSError):
        await supervisor.start()
    assert supervisor.phase == "down"


def test_further_processes_are_short_and_sweeps_have_none():
    one = measure(budget="standard")
    more = following(one, None)
    assert processes(one) == STANDARD and (more.worker, more.phases, more.placement) == (1, False, False)
    assert more.budget.for_process(1).limit_s < 0.1 * one.budget.for_process(0).limit_s
    swept = replace(one, sweep=Sweep(axes=(Axis("samples", (1, 2)),)))
    assert processes(swept) == 1
    thorough = measure(budget="publish")
    assert processes(replace(thorough, sweep=swept.sweep)) == 10
    assert following(thorough, None).phases == thorough.phases
    assert BUDGET["quick"].workers == 1


@behaves("edited")
async def test_code_that_changes_between_processes_ends_the_run_and_keeps_its_rounds(rig):
    await rig.ready()
    await rig.supervisor.measure(measure(budget="standard"))
    await rig.until(lambda: rig.of(Finished))
    (end,) = rig.of(Finished)
    assert end.status == "failed"
    assert end.message == "own.py changed during the measurement; the earlier rounds are saved"
    assert len(rig.of(Round)) == 6, "only rounds of the two processes that read the first version"
    await rig.ready(times=4)
    assert rig.supervisor.phase == "ready", "a fresh worker is there for the next run"


async def test_a_silent_worker_is_reported(monkeypatch):
    monkeypatch.setattr("tuilab.runner.supervisor.SILENT_S", 0.05)
    heard: list[Event] = []
    supervisor = Supervisor(heard.append, [sys.executable, "-c", "import time; time.sleep(600)"])
    await supervisor.start()
    async with asyncio.timeout(60):
        while not heard:
            await asyncio.sleep(0.01)
    assert heard[0].stage == "waiting for an answer" and heard[0].elapsed_s > 0
    await supervisor.close()
