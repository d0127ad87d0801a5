"""Tests the check in `User.ends`, which watches the processes that a command starts and signals."""

import os
import re

import pytest

from tests.journeys.test_papers import typed
from tests.journeys.user import Group, User

pytestmark = pytest.mark.timeout(300)


def test_every_command_is_typed(user: User) -> None:
    user.run("tuilab worker < /dev/null")
    commands = set(
        re.findall(r"^  (\w+)", user.run("tuilab --help").out.partition("Commands:")[2], re.MULTILINE)
    )
    assert commands and commands <= {line[1] for line in typed() if len(line) > 1}


def test_a_line_that_starts_or_ends_what_it_should_not_is_noticed(user: User) -> None:
    gone = "for _ in $(seq 30); do kill -0 $pid 2>&- || break; sleep 0.1; done"
    process = user.begin(f"pid=$(cat bystander.*); kill -9 $pid; {gone}")
    process.wait(10)
    with pytest.raises(AssertionError, match="ended a process that it did not start"):
        user.ends(process)
    process = user.begin("sleep 2")
    group = Group(os.getpgid(process.pid))
    process.wait(10)
    user.ends(process)
    assert not group.ended()
    process = user.begin("sleep 2 & sleep 2; true")
    group = Group(process.pid)
    process.wait(10)
    user.ends(process)
    assert any("sleep" in each for each in group.ended())


@pytest.mark.long
def test_many_articles_are_read_by_processes_that_nothing_signals(user: User) -> None:
    for number in range(20):
        user.write(f"articles/{number}.md", "```python\nimport tensorflow as tf\nprint(tf.ones(3))\n```\n")
    user.run("tuilab check articles", code=(0, 1))
