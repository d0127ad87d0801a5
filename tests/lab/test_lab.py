import asyncio
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.data_folder import knowing
from tests.tui.lab import PRESETS
from tests.tui.scripted import GPU_MACHINE, ScriptedRunner
from tuilab.history.store import Store
from tuilab.lab import Lab
from tuilab.lab.changes import Change
from tuilab.lab.questions import RefusedInput, Unanswered
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.events import Event, Finished, Log, Refused, WorkerExited
from tuilab.model.explain import ExplainScenario, ScenarioExplanation
from tuilab.model.requests import Ask, Measure
from tuilab.presentation.answer import next_steps
from tuilab.report.rows import interval_line

SMALL = str(PRESETS / "stft-small.toml")
README = Path(__file__).resolve().parents[2] / "README.md"


class Runners(list[ScriptedRunner]):
    def __init__(self, **given: object) -> None:
        super().__init__()
        self._given = given

    def __call__(self, on_event) -> ScriptedRunner:
        self.append(ScriptedRunner(on_event, GPU_MACHINE, **self._given))
        return self[-1]


def lab(tmp_path: Path, **given: object) -> tuple[Lab, Runners]:
    runners = Runners(**given)
    return Lab(runner=runners, store=lambda: Store.open(tmp_path)), runners


async def test_a_preset_is_measured_and_stored_and_replayed(tmp_path):
    made, _ = lab(tmp_path, rounds=6)
    heard: list[tuple[Change, Event | None]] = []
    end = made.subscribe(lambda change, event: heard.append((change, event)))
    async with made:
        result = await made.measure(SMALL, budget="quick")
        assert result.status == "ok" and result.rounds == 6 and result.answer
        assert result.claims and result.placement
        line = made.history.find("last")
        assert (line.run, line.status, line.answer) == (result.run, "ok", result.answer)
        assert made.history.state("last").rounds == 6
        assert result.answer.split(":")[0][:20] in "".join(made.history.document("last", "markdown"))
        changes = [change for change, _ in heard]
        assert sum(Change.REPORT in change for change in changes) == 6
        assert Change.OVER in changes[-1] and isinstance(heard[-1][1], Finished)
        end()
        number = len(heard)
        made.state.put_away()
        await made.replay("run:" + result.run)
        while made.state.shown.status is None:
            await asyncio.sleep(0.01)
        assert made.state.shown.rounds == 6 and made.state.replay.startswith("replay · gpu-07")
        assert len(heard) == number, "an unsubscribed listener receives nothing"


async def test_from_the_sixth_run_the_answer_gives_the_range_of_similar_runs(tmp_path):
    made, _ = lab(tmp_path, rounds=6)
    async with made:
        results = [await made.measure(SMALL, budget="quick") for _ in range(6)]
        assert [bool(result.confidence.alike) for result in results] == [False] * 5 + [True]
        said = results[-1].confidence.alike
        fastest = min((arm for arm in results[0].arms if arm.median_s), key=lambda arm: arm.median_s)
        assert said.startswith(
            f"In 6 runs (this one included) with these settings on this machine, {fastest.label} took "
        )
        assert said in interval_line(results[-1])
        alike = made.history.state("last").alike
        medians = [arm.median_s for result in results for arm in result.arms if arm.id == alike.arm]
        assert (alike.runs, alike.low_s, alike.high_s) == (6, min(medians), max(medians))
        other = await made.settings(SMALL)
        other = await made.measure(other.with_value("samples", 512), budget="quick")
        assert not other.confidence.alike, "a run of a different size is not similar"


async def test_settings_are_read_as_typed_and_errors_name_what_is_accepted(tmp_path):
    from tuilab.lab.presets import find_preset
    from tuilab.lab.settings import choose

    made, runners = lab(tmp_path)
    async with made:
        preset = find_preset(SMALL)
        settings = choose(preset, given=["samples=1k"], modes=["graph"], devices=["CPU"])
        result = await made.measure(settings)
        assert result.scenario.parameters["samples"] == 1024
        assert [arm.mode for arm in runners[0].measured[0].arms] == ["graph"]
        with pytest.raises(InputError, match="samples"):
            choose(preset, given=["samples=0"])
        with pytest.raises(InputError, match="no-such-preset"):
            await made.measure("no-such-preset")


async def test_a_sweep_finds_its_sizes_and_is_compared_with_another(tmp_path):
    made, _ = lab(tmp_path)
    async with made:
        first = await made.sweep(SMALL, ["samples=256:4096:x4"], refine=False)
        assert [point.values["samples"] for point in first.points] == [256, 1024, 4096]
        second = await made.sweep(SMALL, ["samples=256:4096:x4"], refine=False)
        compared = made.history.compare(first.run, second.run)
        assert {arm.at["samples"] for arm in compared.arms} == {256, 1024, 4096}


async def test_a_stopped_run_keeps_its_measurements_even_if_the_script_is_interrupted(tmp_path):
    made, runners = lab(tmp_path, hold=3)
    async with made:
        assert not made.stop(), "nothing runs yet"
        for broken_off in (False, True):
            measuring = asyncio.ensure_future(made.measure(SMALL))
            while not runners[0].holding:
                await asyncio.sleep(0.001)
            if broken_off:
                measuring.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await measuring
                assert runners[0].cancelled[-1] == runners[0].measured[1].id
            else:
                assert made.stop()
                result = await measuring
                assert (result.status, result.rounds) == ("cancelled", 3)
                assert made.history.find("last").rounds == 3


async def begun(made: Lab) -> None:
    assert made.begin()
    await asyncio.sleep(0)
    while made.state.running:
        await asyncio.sleep(0.001)


async def test_an_imprecise_run_is_continued_until_it_meets_the_budget(tmp_path):
    made, runners = lab(tmp_path, rounds=7)
    async with made:
        first = await made.measure(SMALL, budget="quick")
        made.state.budget = "publish"
        assert first.confidence is not None and first.confidence.half_width > 0.01
        assert next_steps(made.state)[0].startswith("{run} continues: ± 1% in about ")
        await begun(made)
        began, further = runners[0].measured
        assert (further.id, further.worker) == (began.id, 1) and further.budget.workers >= 6
        assert set(further.arms) == set(began.arms) and not further.placement
        result = made.result()
        assert (result.run, result.rounds, result.status) == (first.run, 14, "ok")
        assert made.state.shown.workers == 2
        kept = made.history.state("last")
        assert (kept.run, kept.rounds, kept.workers, kept.status) == (first.run, 14, 2, "ok")
        # Other settings, a sweep, or results that are precise enough start a new run.
        made.state.budget = "quick"
        await begun(made)
        assert runners[0].measured[-1].id != first.run
        made.state.budget = "publish"
        made.set((await made.settings(SMALL)).with_value("samples", 512))
        await begun(made)
        assert runners[0].measured[-1].worker == 0 and runners[0].measured[-1].id != first.run


class Dying(ScriptedRunner):
    async def start(self) -> None:
        self._on_event(WorkerExited(code=1, message="No module named tensorflow"))


class Failing(ScriptedRunner):
    async def measure(self, request: Measure) -> None:
        self._on_event(Finished(run=request.id, status="failed", message="it fell over"))


@pytest.mark.parametrize(
    ("runner", "message"), [(Dying, "No module named tensorflow"), (Failing, "it fell over")]
)
async def test_a_worker_that_dies_or_a_run_that_does_not_begin_is_an_error(tmp_path, runner, message):
    async with Lab(runner=runner, store=lambda: Store.open(tmp_path)) as made:
        with pytest.raises(WorkerError, match=message):
            await made.measure(SMALL)


async def test_questions_are_answered_or_refused_with_a_message(tmp_path):
    made, runners = lab(tmp_path)
    async with made:
        question = ExplainScenario(scenario=(await made.settings(SMALL)).scenario, arms=())
        assert (await made.questions.ask("explain-scenario", question, ScenarioExplanation)).forecast
        with pytest.raises(Unanswered, match="no answer to riddle"):
            await made.questions.ask("riddle", question, ScenarioExplanation)
        with pytest.raises(RefusedInput, match="no such file"):
            await made.questions.declare("/nowhere/model.py:forward")

        def refuse(request: Ask) -> None:
            runners[0]._on_event(Refused(request=request.id, message="op: got 'X'", where="op"))

        runners[0]._answer = refuse
        with pytest.raises(RefusedInput, match="got 'X'"):
            await made.questions.ask("explain-op", question, ScenarioExplanation)


@pytest.mark.real_worker
def test_the_lines_of_the_readme_measure_and_print_the_answer(tmp_path):
    (script,) = re.findall(r"```python\n(from tuilab\.lab import Lab\n.*?)```", README.read_text(), re.DOTALL)
    assert len([line for line in script.splitlines() if line.strip()]) == 5
    file = tmp_path / "mine.py"
    file.write_text(script)
    environment = {**os.environ, "TUILAB_DATA": knowing(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, file], env=environment, capture_output=True, text=True, timeout=180, check=True
    )
    assert re.search(r"\d", done.stdout) and len(done.stdout.splitlines()) == 1, done
    kept = Store.open(tmp_path / "data")
    assert kept.runs(limit=1)[0].answer == done.stdout.strip()
    kept.close()


async def test_events_that_arrive_during_a_long_summary_are_not_lost(tmp_path):
    made, _ = lab(tmp_path, rounds=3)
    async with made:
        await made.measure(SMALL, budget="quick")
        begun, end = asyncio.Event(), threading.Event()
        loop, seen = asyncio.get_running_loop(), []

        def slow() -> None:
            loop.call_soon_threadsafe(begun.set)
            end.wait(30)

        made.state.sum_up = slow
        summing = asyncio.ensure_future(made.painting.sum_up(lambda: seen.append(len(made.state.shown.log))))
        await begun.wait()
        before = len(made.state.shown.log)
        made.receive(Log(run=made.state.shown.run, text="meanwhile", level="info"))
        assert len(made.state.shown.log) == before
        end.set()
        await summing
        assert seen == [before] and made.state.shown.log[-1].text == "meanwhile"
