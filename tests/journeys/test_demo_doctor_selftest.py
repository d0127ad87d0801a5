import json
import subprocess

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)
NOT_PASSED = 1
CONTAINER = "unshare --pid --fork --mount-proc --kill-child"


@pytest.mark.long
def test_a_user_guesses_in_the_demo_and_sees_the_answer(user: User) -> None:
    with user.opens("tuilab --demo", (80, 24)) as lab:
        lab.see("Demo 1 of", "it holds", seconds=120)
        lab.press("1")
        lab.see("You said", seconds=120)
        lab.press("\x1b")
        lab.until(lambda: not lab.shows("Demo 1 of"), what="the demo is left")
        user.leaves(lab)


def test_the_doctor_says_why_there_is_no_gpu(user: User) -> None:
    told = json.loads(user.run("tuilab doctor --json", code=(0, 1)).out)
    assert told["gpu_visible"] in (True, False) and told["cause"] and told["probes"]
    with user.opens("tuilab") as lab:
        lab.see("ready", seconds=120)
        lab.press("g")
        lab.see(*told["cause"].split()[:2], seconds=90)
        user.leaves(lab, "\x11")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_instrument_tests_itself(user: User) -> None:
    """Runs the whole self-test without a terminal, and in a container if possible. On a busy machine, some of
    its checks may fail.
    """
    allowed = subprocess.run([*CONTAINER.split(), "true"], capture_output=True).returncode == 0
    line = f"setsid -w nohup {CONTAINER if allowed else ''} tuilab selftest"
    told = json.loads(user.run(f"{line} --json", code=(0, NOT_PASSED), seconds=500).out)
    assert len(told["checks"]) >= 14 and told["passed"] == all(check["passed"] for check in told["checks"])
    assert all("Error" not in check["message"] for check in told["checks"])


def test_the_self_test_ends_with_its_result_in_a_terminal(user: User) -> None:
    """The check of forked processes must end only workers that the self-test has started."""
    with user.opens("tuilab selftest --only forked") as shell:
        assert shell.ended(120) in (0, NOT_PASSED), shell.text
        assert shell.shows("forked processes take")
    user.nothing_runs()


@pytest.mark.long
def test_the_self_test_is_stopped_in_a_terminal(user: User) -> None:
    with user.opens("tuilab selftest") as shell:
        shell.see("clock-resolution", seconds=120)
        shell.press("\x03")
        assert shell.ended() == 130
    user.nothing_runs()
