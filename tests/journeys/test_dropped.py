"""The connection drops during a measurement, and the user returns later."""

import pytest

from tests.journeys.user import User

pytestmark = pytest.mark.timeout(300)


def test_a_run_survives_a_dropped_connection_and_is_shown_again(user: User) -> None:
    with user.opens("tuilab --preset stft-small") as lab:
        lab.see("ready", seconds=120)
        lab.press("r")
        lab.see("round", seconds=60)
        lab.hang_up()
        lab.ended()
    user.nothing_runs(120)
    with user.opens("tuilab") as lab:
        lab.see("ready", seconds=120)
        lab.press("h")
        lab.see("1 run", seconds=30)
        user.leaves(lab, "\x11")
    (run,) = user.history()
    assert run["status"] == "ok" and run["rounds"] >= 5 and run["answer"]


@pytest.mark.long
def test_a_run_also_survives_if_the_connection_drops_while_tensorflow_is_imported(user: User) -> None:
    with user.opens("tuilab --preset tiny-ops") as lab:
        lab.see("tuilab")
        lab.press("r")
        lab.see("then the run starts", seconds=30)
        lab.hang_up()
        user.nothing_runs(120)
    (run,) = user.history()
    assert run["status"] == "ok" and run["answer"]


@pytest.mark.long
def test_a_run_in_the_background_cannot_be_resumed(user: User) -> None:
    """Two workers that add to one run would damage it."""
    with user.opens("tuilab --preset stft-small") as lab:
        lab.see("ready", seconds=120)
        lab.press("s")
        lab.see("round", seconds=60)
        lab.hang_up()
        lab.ended()
    refused = user.run("tuilab resume last", code=2, beside=True)
    assert "still measuring this one" in refused.err + refused.out
    with user.opens("tuilab") as lab:
        lab.see("run in the background", seconds=120)
        lab.press("h")
        lab.see("rounds", seconds=60)
        lab.press("\r")
        lab.see("rounds, the run continues in the background", seconds=60)
        lab.press("\x11")
        lab.ended()
    user.run("tuilab history unattended --stop")
    (run,) = user.history()
    assert run["status"] == "cancelled" and "Stopped after" in run["answer"]
    user.run("tuilab history check")
    user.run("tuilab resume last")
    user.run("tuilab history check")


@pytest.mark.long
def test_with_hangup_end_a_dropped_connection_ends_everything(user: User) -> None:
    with user.opens("tuilab --preset stft-small --hangup end") as lab:
        lab.see("ready", seconds=120)
        lab.press("r")
        lab.see("round", seconds=60)
        lab.hang_up()
        lab.ended()
    user.nothing_runs(20)
    with user.opens("tuilab") as lab:
        lab.see("cut short when its lab closed", seconds=120)
        user.leaves(lab, "\x11")
    (run,) = user.history()
    assert run["status"] == "cancelled" and run["rounds"]
