"""Each figure that a reader could mistake for a real GPU's contains the word EMULATED."""

from pathlib import Path

import msgspec
import pytest

from tests.calling import here
from tests.data_folder import knowing
from tests.emulated_gpu.recorded import RECORDINGS, events_of
from tests.emulated_gpu.test_pictures import beside_a_gpu
from tests.made import folded
from tests.tui.lab import opened, press, text
from tests.watch.test_page import GPU, page
from tuilab.analysis.compare import across, compare
from tuilab.analysis.summary import summarise
from tuilab.analysis.verdicts import judge
from tuilab.model.arms import ArmPattern
from tuilab.model.claims import Claim, Faster
from tuilab.model.run import RunState
from tuilab.model.verdicts import EMULATED
from tuilab.profile.xplane import Recording
from tuilab.report.csv import samples
from tuilab.report.program import page_text
from tuilab.report.text import table
from tuilab.worker.profile.answer import notes


@pytest.fixture(scope="module")
def state() -> RunState:
    return folded(*events_of("run"))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> str:
    with pytest.MonkeyPatch.context() as patch:
        folder = knowing(tmp_path_factory.mktemp("history"))
        patch.setenv("TUILAB_DATA", folder)
        for name in ("run", "sweep"):
            assert here("history", "import", str(RECORDINGS / f"{name}.jsonl")).returncode == 0
    return folder


def test_the_machine_says_that_its_gpu_is_emulated(state: RunState) -> None:
    assert state.machine is not None and state.machine.emulated and EMULATED in state.machine.emulated_note
    real = [msgspec.structs.replace(gpu, description="a GPU") for gpu in state.machine.gpus]
    assert not msgspec.structs.replace(state.machine, devices=tuple(real)).emulated_note


@pytest.mark.parametrize(
    "words",
    [
        "history",
        "history --json",
        "history compare run run",
        "history compare run run --json",
        "hosts",
        "hosts --json",
        *(f"export run --format {kind} -o -" for kind in ("markdown", "html", "csv", "json")),
    ],
)
def test_a_command_that_reads_the_history_prints_it(
    history: str, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("TUILAB_DATA", history)
    done = here(*words.split())
    assert done.returncode == 0 and EMULATED in done.stdout, done


def test_every_gpu_row_of_a_sample_table_says_emulated(state: RunState) -> None:
    rows = samples(state).splitlines()[1:]
    assert any(EMULATED in row for row in rows)
    assert all((EMULATED in row) == ("GPU:0" in row) for row in rows)


@pytest.mark.parametrize("details", [False, True])
def test_the_text_says_emulated(state: RunState, details: bool) -> None:
    assert EMULATED in table(summarise(state), details=details)


def test_a_comparison_says_it_of_each_run(state: RunState) -> None:
    assert any(EMULATED in warning for warning in compare(state, state).warnings)
    assert all(any(EMULATED in each for each in own) for own in across([state, state]).warnings)


@pytest.mark.parametrize(("device", "says"), [("GPU", True), ("CPU", False)])
def test_a_verdict_from_an_emulated_gpu_says_so(state: RunState, device: str, says: bool) -> None:
    graph, eager = (ArmPattern(device=device, mode=mode) for mode in ("graph", "eager"))
    assert (EMULATED in judge(Claim(text="c", when=Faster(a=graph, b=eager)), state).evidence) == says


def test_the_notes_of_a_profile_name_the_emulated_gpu(state: RunState) -> None:
    assert state.machine is not None
    seen = Recording(())
    assert any(EMULATED in note for note in notes(state.machine, "GPU:0", seen, 0))
    assert not any(EMULATED in note for note in notes(state.machine, "CPU:0", seen, 0))


def test_the_page_of_a_watched_program_says_it() -> None:
    software = msgspec.structs.replace(GPU, physical=((*GPU.physical[0][:2], EMULATED, None),))
    ops = {("MatMul", "GPU:0"): 0.004}
    assert "GPU:0 is EMULATED" in page_text(page(ops, software))
    assert EMULATED not in page_text(page(ops, GPU))


async def test_the_list_of_presets_and_the_demo_say_it(tmp_path: Path) -> None:
    app = beside_a_gpu(tmp_path, "stft-small")
    async with opened(app, (160, 50)) as pilot:
        await press(pilot, app, "r")
        assert "Presets (EMULATED GPU)" in text(app)
        await press(pilot, app, "D")
        assert "(EMULATED GPU): " in text(app)
