"""The demo, the doctor and the self-test, wherever they are started."""

import json
import subprocess

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)
NOT_PASSED = 1
CONTAINER = "unshare --pid --fork --mount-proc --kill-child"
"""Process 1 of a container, without a terminal."""


@pytest.mark.long
def test_a_user_guesses_in_the_demo_and_sees_the_answer(user: User) -> None:
    with user.opens("tuilab --demo") as lab:
        lab.see("Demo 1 of", "it holds", seconds=120)
        lab.press("1")
        lab.see("You said", seconds=120)
        lab.press("\x1b")
        lab.until(lambda: not lab.shows("Demo 1 of"), what="the demo is left")
        user.leaves(lab)


def test_the_doctor_says_why_there_is_no_gpu(user: User) -> None:
    """The shell and the lab show the same sentence."""
    told = json.loads(user.run("tuilab doctor --json", code=(0, 1)).out)
    assert told["gpu_visible"] in (True, False) and told["cause"] and told["probes"]
    assert told["cause"].split(":")[0][:30] in user.run("tuilab doctor", code=(0, 1)).out
    with user.opens("tuilab") as lab:
        lab.see("ready", seconds=120)
        lab.press("g")
        lab.see(*told["cause"].split()[:2], seconds=90)
        user.leaves(lab, "\x11")


@pytest.mark.long
def test_the_instrument_tests_itself(user: User) -> None:
    """The whole self-test, in a pipe. On a busy machine it fails and names the failed check."""
    told = json.loads(user.run("tuilab selftest --json", code=(0, NOT_PASSED)).out)
    assert len(told["checks"]) >= 14 and told["passed"] == all(check["passed"] for check in told["checks"])
    assert all("Error" not in check["message"] for check in told["checks"])


@pytest.mark.parametrize(
    "before",
    ["", *(pytest.param(each, marks=pytest.mark.long) for each in (f"setsid -w nohup {CONTAINER}",))],
)
def test_the_self_test_ends_with_its_result_wherever_it_runs(user: User, before: str) -> None:
    """Its check of forked processes starts and ends only its own workers."""
    if CONTAINER in before and subprocess.run([*CONTAINER.split(), "true"], capture_output=True).returncode:
        pytest.skip("no container can be made here")
    line = f"{before} tuilab selftest --only forked --only clock-rate"
    told = json.loads(user.run(f"{line} --json", code=(0, NOT_PASSED)).out)
    assert [check["name"] for check in told["checks"]] == ["clock-rate", "forked"]


@pytest.mark.long
def test_the_self_test_ends_with_its_result_in_a_terminal(user: User) -> None:
    with user.opens("tuilab selftest") as shell:
        shell.see("clock-resolution", seconds=120)
        shell.press("\x03")
        assert shell.ended() == 130
    with user.opens("tuilab selftest --only forked") as shell:
        assert shell.ended(120) in (0, NOT_PASSED), shell.text
        assert shell.shows("forked processes take")
    user.nothing_runs()
