"""A user watches a program from the shell and from the lab, while a second shell is also in use."""

import json
import re

import pytest

from tests.journeys.user import User, figures

pytestmark = pytest.mark.timeout(300)
SECOND = "tuilab run stft-small --budget quick --mode graph --device CPU"
TRAIN = """
import sys, time
import tensorflow as tf

@tf.function
def step(x):
    return tf.nn.relu(x @ x) * 1e-3

x = tf.random.normal((100, 100))
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    x = step(x)
print("trained", sys.stdin.readline().strip())
sys.exit(3)
"""


@pytest.mark.smoke
def test_a_program_is_watched_from_the_shell(user: User) -> None:
    """Watching does not change the program's input, output and exit code. The page is printed and saved at
    the end.
    """
    user.write("train.py", TRAIN.replace("float(sys.argv[1])", "5"))
    done = user.run("tuilab watch train.py", code=3, typed="well\n")
    assert done.out.splitlines() == ["trained well"]
    assert "train.py:7" in done.err and figures(done.err)
    user.run("tuilab watch --json page.json train.py", code=3, typed="again\n")
    page = json.loads((user.home / "page.json").read_text())
    assert page["lasted_s"] > 5
    opened = user.run("tuilab watch --open page.json --plain")
    assert figures(opened.out + opened.err)
    listed = user.run("tuilab history programs").out
    newest, older = re.findall(r"\bw[0-9a-f]{3,}\b", listed)[:2]
    assert "train.py" in listed
    assert figures(user.run(f"tuilab history compare {older} {newest}").out)
    assert "train.py" in user.run(f"tuilab export {newest}").out


@pytest.mark.long
def test_a_program_is_watched_in_the_lab_while_a_second_shell_measures(user: User) -> None:
    user.write("train.py", TRAIN)
    with user.opens("tuilab watch train.py 600", own_traceback=True) as lab:
        lab.see("• step", seconds=120)
        user.run(SECOND, beside=True)
        lab.press("3")
        lab.see("MatMul", "train.py:7", seconds=60)
        assert len(user.history()) == 1
        lab.press("7")
        lab.press("x")
        lab.see("ended", seconds=30)
        lab.press("q")
        lab.ended()
    user.nothing_runs()
    with user.opens("tuilab", own_traceback=True) as lab:
        lab.see("ready", seconds=120)
        lab.press("o")
        lab.see("Open")
        lab.press("train.py 600\r")
        lab.see("• step", seconds=120)
        lab.press("\x1b")
        user.run(SECOND, beside=True)
        lab.press("h")
        lab.see("2 runs", seconds=30)
        assert not lab.shows("disk I/O error")
        lab.press("\x1b")
        lab.until(lambda: not lab.shows("2 runs"))
        lab.press("W")
        lab.press("x")
        lab.see("ended", seconds=30)
        lab.press("q")
        lab.see("Controls")
        lab.press("q")
        assert lab.ended() == 0
    user.nothing_runs()
    user.run("tuilab history check")
    assert len(user.history()) == 2 and "train.py" in user.run("tuilab history programs").out
