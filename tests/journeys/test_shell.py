"""A user measures, changes, stops, resumes, compares and exports a preset in a shell."""

import json

import pytest

from tests.journeys.user import User, figures

pytestmark = pytest.mark.timeout(300)


@pytest.mark.smoke
def test_a_preset_is_measured_changed_and_compared(user: User) -> None:
    done = user.run("tuilab run stft-small --set samples=64k --budget quick --json")
    first = json.loads(done.out)
    assert first["scenario"]["parameters"]["samples"] == 65_536
    assert all(arm["median_s"] > 0 for arm in first["arms"] if arm["status"] == "ok")
    user.environment["GITHUB_STEP_SUMMARY"] = str(user.home / "summary.md")
    line = 'tuilab run stft-small --budget quick --check --markdown >> "$GITHUB_STEP_SUMMARY"'
    user.run(line, code=(0, 4))
    page = (user.home / "summary.md").read_text()
    assert "## Claims" in page and figures(page)
    newest, older = json.loads(user.run("tuilab history --json").out)
    assert (older["preset"], newest["preset"]) == ("stft-small", "stft-small")
    compared = user.run(f"tuilab history compare {older['run']} {newest['run']}").out
    assert "samples" in compared and figures(compared)
    assert "stft-small" in user.run("tuilab hosts").out
    user.run("tuilab history check")


@pytest.mark.long
def test_a_sweep_is_stopped_and_resumed(user: User) -> None:
    line = "tuilab sweep stft-small --axis samples=256:1M:x4 --budget quick --mode graph --device CPU"
    stopped = user.begins_and_stops(line)
    assert stopped["status"] == "cancelled"
    user.run("tuilab resume last")
    whole = user.history()[0]
    assert whole["run"] == stopped["run"] and whole["rounds"] > stopped["rounds"] and whole["status"] == "ok"
    assert len(json.loads(user.run("tuilab export last --format json").out)["points"]) >= 3


@pytest.mark.long
def test_a_user_sees_where_the_time_goes_and_why(user: User) -> None:
    assert "CPU" in user.run("tuilab explain stft-small").out
    assert "GPU" in user.run("tuilab explain MatMul --dtype int32").out
    against = user.run("tuilab run stft-small --against h100 --budget quick --mode graph --device CPU").out
    assert "H100" in against
    known = user.run("tuilab run stft-small --against help", code=0)
    assert "h100" in known.out
    assert "FLOP/s" in user.run("tuilab machine").out
    assert "FLOP/s" in user.run("tuilab machine --again").out
    assert figures(user.run("tuilab profile stft-small --budget quick").out)


@pytest.mark.long
def test_a_run_that_is_stopped_is_kept(user: User) -> None:
    run = user.begins_and_stops("tuilab run stft-small")
    assert run["status"] == "cancelled" and run["preset"] == "stft-small"
    user.begins_and_stops("tuilab verdicts")
    assert "stft-small" in user.run("tuilab history").out
    user.run("tuilab history check")
