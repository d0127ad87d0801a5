"""Programs whose parts have a known duration, compared with the reported phases and bottleneck.

On a busy machine, a sleep or loop takes longer than requested, so a part is compared with the rest of its
call, which is known to be short.
"""

import uuid
from pathlib import Path

import pytest

from tests.conftest import Worker, fold
from tuilab.analysis.account import largest
from tuilab.analysis.summary import summarise
from tuilab.model.account import Account
from tuilab.model.arms import Arm, Mode
from tuilab.model.requests import Measure
from tuilab.model.run import RunState
from tuilab.model.scenario import Budget, Scenario

pytestmark = pytest.mark.real_worker

BRIEF = Budget(name="quick", warm_s=0.1, warm_limit_s=0.3, precision=0.05, rounds=12, limit_s=2.0)
FILE = Path(__file__).with_name("truths.py")

TRUTHS: dict[str, tuple[Mode, str, float, float]] = {
    # For each program: mode, phase, and the minimum and maximum share of a call that the phase takes.
    "input_alone": ("eager", "input_wait", 0.8, 1.0),
    "input_ahead": ("eager", "input_wait", 0.6, 1.0),
    "input_deep": ("graph", "input_wait", 0.6, 1.0),
    "input_and_product": ("graph", "input_wait", 0.5, 1.0),
    "input_hidden": ("graph", "compute", 0.6, 1.0),
    "input_by_hand": ("eager", "input_wait", 0.5, 1.0),
    "python_loop": ("eager", "python", 0.7, 1.0),
    "python_sleep": ("eager", "python", 0.6, 1.0),
    "python_zlib": ("eager", "python", 0.6, 1.0),
    "python_numpy": ("eager", "python", 0.6, 1.0),
    "python_called_back": ("eager", "python", 0.6, 1.0),
    "python_beside_product": ("eager", "python", 0.6, 1.0),
    "product_large": ("graph", "compute", 0.8, 1.0),
    "product_mid": ("graph", "compute", 0.5, 1.0),
    "products_in_loop": ("graph", "compute", 0.6, 1.0),
    "elementwise": ("graph", "compute", 0.5, 1.0),
    "reduction": ("graph", "compute", 0.4, 1.0),
    "convolution": ("graph", "compute", 0.5, 1.0),
    "sorting": ("graph", "compute", 0.8, 1.0),
    "random_numbers": ("graph", "compute", 0.8, 1.0),
    "gathering": ("graph", "compute", 0.4, 1.0),
    "transform": ("graph", "compute", 0.5, 1.0),
    "tiny": ("eager", "dispatch", 0.5, 1.0),
    "chain": ("eager", "dispatch", 0.4, 1.0),
    "small_loop": ("graph", "dispatch", 0.8, 1.0),
    "small_products": ("graph", "dispatch", 0.5, 1.0),
}
SET_S = {
    "input_alone": 20e-3, "input_ahead": 20e-3, "input_deep": 20e-3, "input_and_product": 20e-3,
    "input_by_hand": 20e-3, "python_loop": 5e-3, "python_sleep": 5e-3, "python_called_back": 5e-3,
    "python_beside_product": 20e-3,
}  # fmt: skip
"""Requested duration of each program's phase, in seconds. On a busy machine, the phase may take longer, but
never less.
"""
TRIES = 5
BINDS = {"input_wait": "input", "python": "python", "compute": "compute", "dispatch": "launches"}
USUAL = ("input_ahead", "input_by_hand", "python_sleep", "chain")
"""One program of each kind. The other programs run in long mode."""


def run_of(worker: Worker, name: str) -> RunState:
    mode, *_ = TRUTHS[name]
    request = Measure(
        id=uuid.uuid4().hex,
        scenario=Scenario("own", {}, f"{FILE}:{name}"),
        arms=(Arm("CPU:0", mode),),
        budget=BRIEF,
        phases=True,
        placement=True,
    )
    return fold(worker.measure(request))


def measured(worker: Worker, name: str) -> Account:
    state = run_of(worker, name)
    [arm] = summarise(state).arms
    assert arm.account is not None, f"{arm.status}: {arm.reason}; {[log.text for log in state.log]}"
    assert sum(arm.phases_s.values()) == pytest.approx(arm.median_s)
    return arm.account


@pytest.mark.parametrize(
    "name", [name if name in USUAL else pytest.param(name, marks=pytest.mark.long) for name in TRUTHS]
)
def test_the_reported_part_is_the_one_that_was_set(worker: Worker, name: str) -> None:
    _, phase, least, most = TRUTHS[name]
    seen = []
    for _ in range(TRIES):
        account = measured(worker, name)
        seen.append({part.phase: round(part.seconds * 1e3, 3) for part in account.parts})
        # If the account has a note, the machine behaved differently during the profile, so measure again.
        if not account.note and least <= account.share(phase) <= most and _as_set(account, name):
            assert largest(account) == BINDS[phase], seen
            return
    pytest.fail(f"{phase} of {SET_S.get(name, 'a share')}, ms seen: {seen}")


def _as_set(account: Account, name: str) -> bool:
    if name not in SET_S:
        return True
    return abs(account.seconds(TRUTHS[name][1]) / SET_S[name] - 1) <= 0.1
