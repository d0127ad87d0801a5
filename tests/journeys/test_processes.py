"""Every process that a command starts has its own group, and no other group receives signals: read from
/proc.
"""

import os
import re
import signal
import time

import psutil
import pytest

from tests.journeys.user import User, named

pytestmark = pytest.mark.timeout(300)
ARM = "--budget quick --mode graph --device CPU"
COMMANDS = (
    f"tuilab run tiny-ops {ARM}", f"tuilab sweep stft-crossover --axis samples=256:2k:x8 {ARM}", "tuilab resume last",
    "tuilab verdicts", "tuilab new mine", "tuilab presets", "tuilab history", "tuilab hosts", "tuilab export last",
    "tuilab explain tiny-ops", "tuilab profile tiny-ops --budget quick", "tuilab selftest --only forked --only hog",
    "tuilab machine", "tuilab doctor", "tuilab check articles", "tuilab import articles/0.md", "tuilab serve --port {}",
    "tuilab schema run", "tuilab completion bash", "tuilab worker", "tuilab watch program.py",
)  # fmt: skip
STOPPED = ("tuilab verdicts", "tuilab serve")
"""These run until Ctrl-C."""
STARTING_S = 0.5
"""Seconds for a starting process to leave its parent's group."""
SHARES = {
    "tuilab watch": "the program has the terminal, whose Ctrl-C reaches the foreground group alone",
    "tuilab check": "copies of the command itself, which nothing signals",
}
"""Commands with processes in their own group, and the reason."""


def started_in_its_group(user: User, line: str) -> list[str]:
    """Run a line next to a bystander in the same group, who must survive; return what it started in that
    group.
    """
    stop = line.startswith(STOPPED)
    bystander = user.home / "bystander"
    process = user.begin(f"(sleep 600 & echo $! > bystander); exec {line}", stdout=-3, stderr=-3)
    seen: dict[int, float] = {}
    found: dict[int, str] = {}
    begun = time.monotonic()
    try:
        while process.poll() is None and time.monotonic() - begun < 120:
            if stop and time.monotonic() - begun > 10:
                process.send_signal(signal.SIGINT)
                stop = False
            for child in psutil.Process(process.pid).children(recursive=True):
                try:
                    if os.getpgid(child.pid) == process.pid:
                        since = seen.setdefault(child.pid, time.monotonic())
                        if time.monotonic() - since > STARTING_S:
                            found[child.pid] = named(child)
                except (ProcessLookupError, psutil.Error):
                    continue
            time.sleep(0.05)
    except psutil.NoSuchProcess:
        pass  # it ended between two checks
    finally:
        beside = int(bystander.read_text())
        alive = psutil.pid_exists(beside) and psutil.Process(beside).status() != psutil.STATUS_ZOMBIE
        assert process.wait(60) not in (-signal.SIGKILL, 70), f"{line}: exit code {process.returncode}"
        if alive:
            os.kill(beside, signal.SIGKILL)
    assert alive, f"{line} ended a process that it did not start"
    user.nothing_runs()
    return list(found.values())


def test_every_command_is_among_these(user: User) -> None:
    told = user.run("tuilab --help").out.partition("Commands:")[2]
    assert set(re.findall(r"^  (\w+)", told, re.MULTILINE)) == {line.split()[1] for line in COMMANDS}


@pytest.mark.long
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_signals_only_what_it_started(user: User, line: str) -> None:
    user.write("program.py", "import time\ntime.sleep(1)\n")
    for number in range(20):
        user.write(f"articles/{number}.md", "```python\nimport tensorflow as tf\nprint(tf.ones(3))\n```\n")
    found = started_in_its_group(user, line.format(8700 + os.getpid() % 1000))
    assert not found or line.startswith(tuple(SHARES)), f"{line} started in its own group: {found}"
