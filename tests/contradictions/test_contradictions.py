"""All statements about one quantity agree: in recorded, constructed and real runs."""

import contextlib
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import made
from tests.analysis.made_runs import GPU_COPIED, begun, finish, measure, placed
from tests.conftest import Worker
from tests.contradictions import collected
from tests.contradictions.collected import contradictions
from tests.made import EAGER, GPU_GRAPH, GRAPH, folded
from tests.worker.measure.test_known_truths import TRUTHS, run_of
from tests.workloads.test_own import run
from tests.workloads.test_presets import PRESETS, SMALLER, measured
from tuilab.catalogue.plan import ladder
from tuilab.history.recording import read
from tuilab.lab.settings import Settings
from tuilab.model import events as e
from tuilab.model.arms import ArmPattern, ArmSelection
from tuilab.model.claims import Claim, Faster
from tuilab.model.errors import InputError
from tuilab.model.expand import expand
from tuilab.model.parameters import Integer, LogInteger
from tuilab.model.preset import Preset
from tuilab.model.roofline import Work
from tuilab.workloads import find

HERE = Path(__file__).parent
OWN = HERE / "own.py"
RECORDINGS = sorted((*HERE.glob("../recordings/*.jsonl"), *HERE.glob("../emulated_gpu/recordings/*.jsonl")))
PARTS = st.dictionaries(
    st.sampled_from(
        [
            "dispatch",
            "python",
            "copy_in",
            "copy_out",
            "copy",
            "input_wait",
            "compute",
            "compress",
            "not_known",
        ]
    ),
    st.floats(1e-3, 1.0),
    min_size=1,
)


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: f"{file.parent.parent.name}-{file.stem}")
def test_recordings_do_not_contradict_themselves(file: Path) -> None:
    state = folded(*read(file))
    assert any(cell.account for arm in state.arms.values() for cell in arm.cells.values())
    assert contradictions(state, PRESETS[state.preset].claims if state.preset in PRESETS else ()) == []


@given(st.tuples(PARTS, PARTS, PARTS, PARTS), st.tuples(*[st.floats(0.7, 1.4)] * 4), st.booleans())
def test_generated_calls_give_consistent_figures(
    parts: tuple[dict[str, float], ...], paces: tuple[float, ...], work: bool
) -> None:
    arms = (EAGER, GRAPH, GPU_GRAPH, GPU_COPIED)
    state = begun(arms)
    measure(
        state,
        {
            arm: 1e-3 * (i + 1) * sum(own.values())
            for i, (arm, own) in enumerate(zip(arms, parts, strict=True))
        },
        rounds=12,
    )
    for i, (arm, own, pace) in enumerate(zip(arms, parts, paces, strict=True)):
        spent = {name: 1e-3 * (i + 1) * pace * seconds for name, seconds in own.items()}
        halves = {name: seconds / 10 for name, seconds in spent.items()}
        state.apply(e.Accounted(run="r", arm=arm.id, point=0, account=made.account(None, halves, **spent)))
        state.apply(e.Profiled(run="r", arm=arm.id, profile=made.profile(arm.id)))
        placed(state, arm, e.Node("m", "MatMul", arm.device, count=7))
        if work:
            state.apply(
                e.WorkKnown(run="r", arm=arm.id, point=0, work=Work(flop=1e6, inputs=4e3, outputs=4e3))
            )
    assert contradictions(finish(state)) == []


def test_a_contradiction_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    state = measure(begun([EAGER]), {EAGER: 1e-3})
    state.apply(
        e.Accounted(run="r", arm=EAGER.id, point=0, account=made.account(dispatch=9e-4, compute=1e-4))
    )
    result = collected.summarise(state)
    lies = {"phases_s": {"compute": 9e-4}, "median_s": 2e-3, "account": made.account(compute=1e-3)}
    for name, value in lies.items():
        arm = msgspec.structs.replace(result.arms[0], **{name: value})
        lied = msgspec.structs.replace(result, arms=(arm,))
        monkeypatch.setattr(collected, "summarise", lambda *_, lied=lied: lied)
        assert contradictions(state), name


def test_a_false_ratio_a_false_count_and_a_false_verdict_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = measure(begun([EAGER, GRAPH], gpu=False), {EAGER: 4e-3, GRAPH: 1e-3})
    for arm, count in ((EAGER, 1_300), (GRAPH, 8)):
        placed(state, arm, e.Node("m", "MatMul", "CPU:0", count=count))
        state.apply(e.WorkKnown(run="r", arm=arm.id, point=0, work=Work(flop=1e6, inputs=4e3, outputs=4e3)))
    state.apply(
        e.Accounted(run="r", arm=EAGER.id, point=0, account=made.account(dispatch=3.6e-3, compute=4e-4))
    )
    claim = Claim(
        text="A graph is faster.", when=Faster(a=ArmPattern(mode="graph"), b=ArmPattern(mode="eager"))
    )
    finish(state)
    result = collected.summarise(state, [claim])
    assert contradictions(state, [claim]) == []
    verdict, arm = result.claims[0], result.arms[0]
    assert "1,300 ops" in result.diagnosis[0].message and "4.0" in result.answer
    lies = {
        "answer": {"answer": result.answer.replace("4.0", "7.0", 1)},
        "launches": {
            "diagnosis": tuple(
                msgspec.structs.replace(d, message=d.message.replace("1,300 ops", "14 ops"))
                for d in result.diagnosis
            )
        },
        "evidence": {
            "claims": (
                msgspec.structs.replace(verdict, evidence=re.sub(r"4\.0\d*", "9.00", verdict.evidence)),
            )
        },
        "work": {
            "arms": (
                msgspec.structs.replace(arm, roof=msgspec.structs.replace(arm.roof, flop=2e6)),
                *result.arms[1:],
            )
        },
    }
    for name, lie in lies.items():
        lied = msgspec.structs.replace(result, **lie)
        monkeypatch.setattr(collected, "summarise", lambda *_, lied=lied: lied)
        assert contradictions(state, [claim]), name


@pytest.mark.real_worker
@pytest.mark.long
@pytest.mark.timeout(900)  # every arm runs thousands of individual ops
@pytest.mark.parametrize("size", ["own", "least", "most"])
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(worker: Worker, name: str, size: str) -> None:
    own = SMALLER if size == "own" else {name: end(PRESETS[name], size)}
    assert contradictions(measured(worker, name, own, phases=True), PRESETS[name].claims) == []


def end(preset: Preset, size: str) -> dict[str, int]:
    """Return the smallest or largest value of the workload's axis within the limits: a gigabyte, and 10¹²
    operations per call (about ten seconds on two cores).
    """
    workload = find(preset.workload)
    axis = workload.declaration.parameter(workload.declaration.axis)
    if not isinstance(axis, Integer | LogInteger):
        return {}
    fitting = []
    for value in ladder(axis):
        with contextlib.suppress(InputError):
            values = Settings.of(preset).with_values({axis.name: value}).values
            arms = expand(preset.arms, workload.declaration, values, ("CPU:0",))
            flop = (
                max((workload.work(values, arm).flop or 0 for arm in arms), default=0) if workload.work else 0
            )
            if flop <= 1e12 and (workload.memory is None or workload.memory(values) < 1e9):
                fitting.append(value)
    return {axis.name: min(fitting) if size == "least" else max(fitting)}


@pytest.mark.real_worker
@pytest.mark.long
@pytest.mark.parametrize("name", re.findall(r"(?m)^def ([a-z]\w*)", OWN.read_text()))
def test_hand_written_functions_give_consistent_figures(worker: Worker, name: str) -> None:
    every = ArmSelection(devices=("CPU:0",), modes=("eager", "graph", "xla"))
    state = run(worker, f"{OWN}:{name}", every)
    assert any(arm.median_s for arm in collected.summarise(state).arms), state.detail
    assert contradictions(state) == []


@pytest.mark.real_worker
@pytest.mark.long
@pytest.mark.parametrize("name", list(TRUTHS))
def test_own_functions_give_consistent_figures(worker: Worker, name: str) -> None:
    assert contradictions(run_of(worker, name)) == []
