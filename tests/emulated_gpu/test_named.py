"""Everything that could be mistaken for a GPU's figure contains the word EMULATED."""

import pytest

from tests.emulated_gpu.recorded import events_of
from tests.made import folded
from tuilab.analysis.summary import summarise
from tuilab.model.machine import EMULATED
from tuilab.model.run import RunState
from tuilab.report.csv import samples
from tuilab.report.formats import FORMATS
from tuilab.report.text import table


@pytest.fixture(scope="module")
def state() -> RunState:
    return folded(*events_of("run"))


def test_the_machine_is_marked_emulated(state: RunState) -> None:
    assert state.machine is not None and state.machine.emulated


def test_the_answer_says_emulated_in_the_history_and_in_json(state: RunState) -> None:
    assert EMULATED in summarise(state).answer


def test_every_gpu_row_of_a_sample_table_says_emulated(state: RunState) -> None:
    rows = samples(state).splitlines()[1:]
    assert any(EMULATED in row for row in rows)
    assert all((EMULATED in row) == ("GPU:0" in row) for row in rows)


@pytest.mark.parametrize("name", ["markdown", "html"])
def test_a_report_says_emulated(state: RunState, name: str) -> None:
    assert EMULATED in FORMATS[name][1](summarise(state), state)


@pytest.mark.parametrize("details", [False, True])
def test_the_text_says_emulated(state: RunState, details: bool) -> None:
    assert EMULATED in table(summarise(state), details=details)
