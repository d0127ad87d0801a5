"""Compares statements about runs that were recorded on an H100 (tests/recordings/h100) with the recorded
times.
"""

import gzip
import json
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pytest

from tests.contradictions.collected import contradictions
from tests.emulated_gpu.sentences import measured_by_id, order
from tests.made import folded
from tests.workloads.test_presets import PRESETS
from tuilab.analysis.bound import bounds_of_arm, leads
from tuilab.analysis.bound_words import bound_sentence
from tuilab.analysis.reading import estimate_at, summary_point
from tuilab.analysis.summary import summarise
from tuilab.history.recording import read
from tuilab.model.arms import family
from tuilab.model.datasheets import SHEETS
from tuilab.model.roofline import GpuBound, Roofs
from tuilab.model.run import RunState
from tuilab.profile.threads import activity
from tuilab.profile.xplane import HOST
from tuilab.profile.xplane import read as read_profile

HERE = Path(__file__).parents[1] / "recordings" / "h100"
NAMES = sorted(file.name.removesuffix(".jsonl.gz") for file in HERE.glob("*.jsonl.gz"))
NOISE = 1.1
"""Factor by which a run's median may differ from the machine's long-term median. The medians' intervals are
about this wide.
"""


@cache
def unpacked(name: str) -> bytes:
    return gzip.decompress((HERE / name).read_bytes())


@cache
def recorded(name: str) -> RunState:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(unpacked(f"{name}.jsonl.gz"))
        file.flush()
        return folded(*read(Path(file.name)))


@pytest.fixture(params=NAMES)
def state(request: pytest.FixtureRequest) -> RunState:
    return state_of(request.param)


def state_of(name: str) -> RunState:
    state = recorded(name)
    assert state.machine is not None
    roofs = msgspec.json.decode((HERE / "roofs.json").read_bytes(), type=Roofs)
    state.roofs[state.machine.key] = msgspec.structs.replace(roofs, machine=state.machine.key)
    return state


def compared(state: RunState) -> list[tuple[GpuBound, float]]:
    """Return each bound for a CPU arm, with the seconds of the fastest comparable arm on the H100."""
    found = []
    for point in [point.index for point in state.points] or [0]:
        for lead in leads(state, point):
            for bound in bounds_of_arm(state, lead, point, SHEETS["h100"]):
                took_s = [
                    timed.median
                    for arm in state.arms.values()
                    if family(arm.arm.device) == "GPU"
                    and (arm.arm.variant, arm.arm.dtype) == (bound.variant, bound.dtype)
                    and arm.arm.input == bound.input
                    and (timed := estimate_at(arm, point)) is not None
                ]
                if took_s:
                    found.append((bound, min(took_s)))
    return found


def test_the_h100_is_never_faster_than_its_bound(state: RunState) -> None:
    pairs = compared(state)
    assert pairs and all(took_s > bound.seconds for bound, took_s in pairs)
    assert all(bound.measured_s and bound.at_most for bound, _ in pairs)


def test_the_likely_range_contains_what_the_h100_did(state: RunState) -> None:
    for bound, took_s in compared(state):
        if bound.expected is None or bound.measured_s is None or bound.expected[0] == bound.at_most:
            continue  # tuilab prints no range for this bound
        low, high = bound.expected
        assert low / NOISE <= bound.measured_s / took_s <= high * NOISE, (bound.mode, bound.variant)


def test_no_statement_contradicts_another(state: RunState) -> None:
    assert contradictions(state, PRESETS[state.preset].claims if state.preset else ()) == []


def test_the_answer_orders_the_arms_as_they_were_measured(state: RunState) -> None:
    point = summary_point(state)
    assert list(order(summarise(state), measured_by_id(state, point), point)) == []


def test_text_is_parsed_on_the_cpu_so_no_range_is_predicted() -> None:
    state = recorded("string-ops")
    assert "likely" not in bound_sentence(state, "h100")
    stalled = [found for found in summarise(state).diagnosis if found.code == "stalled"]
    assert [found.arm for found in stalled] == ["gpu0.graph.resident"] and "StringSplitV2" in stalled[
        0
    ].message


def test_a_cpu_arm_that_used_the_gpu_says_so() -> None:
    flagged = {
        arm.label: flag.message
        for arm in summarise(recorded("many-copies")).arms
        for flag in arm.flags
        if flag.code == "other-device"
    }
    assert list(flagged) == ["CPU graph pieces"]
    assert "257 ops of a call (Identity) ran on GPU:0" in flagged["CPU graph pieces"]


def test_the_doctor_found_nothing_wrong() -> None:
    told = json.loads((HERE / "doctor.json").read_bytes())
    assert (told["gpu_visible"], told["code"], told["mend"]) == (True, "well", "")
    assert {probe["status"] for probe in told["probes"]} <= {"ok", "skip", "warn"}


def test_the_profile_shows_three_kernels_and_a_copy_per_call() -> None:
    recording = read_profile(unpacked("stft-small.xplane.pb.gz"))
    on_gpu = [seen for seen in activity(recording.lines).events if recording.lines[seen.lane].device != HOST]
    assert {recording.lines[seen.lane].device for seen in on_gpu} == {"GPU:0"}
    kinds = Counter(str(seen.meaning.phase) for seen in on_gpu)
    assert kinds["copy"] > 50 and kinds["compute"] == 3 * kinds["copy"] == 0.75 * kinds.total()
