"""Child processes start, answer messages, and are never left behind."""

import time

import psutil
import pytest

from tuilab.workloads.parts.child import Child
from tuilab.workloads.parts.sharing import shared

ECHO = "tests.workloads.children:echo"
PATIENCE_S = 15.0


@pytest.fixture
def born():
    """Return a function that lists the child processes started since the test began. Earlier tests may have
    left some running.
    """
    before = set(psutil.Process().children())
    return lambda: [child for child in psutil.Process().children() if child not in before]


def test_prints_of_a_child_are_not_taken_for_answers(born):
    child = Child(ECHO, {"a": 1})
    try:
        assert child.ask({"b": 2}) == {"a": 1, "b": 2}
        assert child.ask({"b": 3}) == {"a": 1, "b": 3}
    finally:
        child.close()
    assert not born()


def test_an_ended_child_is_an_error_and_waiting_can_be_interrupted():
    child = Child(ECHO, {})
    try:
        with pytest.raises(RuntimeError, match="code 3"):
            child.ask({"leave": True})
    finally:
        child.close()
    child = Child("time:sleep", {})  # this child never answers
    asked = []

    def stop():
        asked.append(time.monotonic())
        raise InterruptedError

    try:
        with pytest.raises((InterruptedError, RuntimeError)):
            child.answer(stop)
    finally:
        child.close()


def test_arms_share_children_and_the_last_one_closes_them(born):
    pool, started = {}, []

    def start():
        started.append(Child(ECHO, {}))
        return started[-1]

    with shared(pool, "key", start, Child.close) as first:
        with shared(pool, "key", start, Child.close) as second:
            assert first is second and len(started) == 1
        assert first.ask({"x": 1}) == {"x": 1}
    assert not pool and not born()


def test_rivals_load_the_device_only_inside_the_shared_arm(make, born):
    alone = make("contention", "alone", side=256)
    shared_ = make("contention", "shared", side=256)
    (rival,) = born()

    def used(enough=None):
        """Return the processor seconds that the competing process uses in 0.4 s.

        enough: first wait until the process has used this many seconds.
        """
        begun, before = time.monotonic(), sum(rival.cpu_times()[:2])
        while True:
            time.sleep(0.4)
            spent = sum(rival.cpu_times()[:2]) - before
            if enough is None or spent >= enough or time.monotonic() - begun > PATIENCE_S:
                return spent

    with alone.case.scope():
        idle = used()
    with shared_.case.scope():
        loaded = used(enough=0.3)
    after = used()
    assert loaded >= 0.3 and max(idle, after) < loaded / 3
    shared_.case.close()
    assert not born()
