"""Runs watched programs for tests, with the real observer, in forks of a process that has imported
TensorFlow.
"""

import atexit
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tuilab import observer
from tuilab.lab.watch import Watched, WatchOptions
from tuilab.model.program import Page
from tuilab.runner.watched import Listener

PROGRAMS = Path(__file__).parent / "programs"
EXPECTS = re.compile(r"^# expects:(.*)$", re.MULTILINE)
MAY = re.compile(r"^# may:(.*)$", re.MULTILINE)
BUSY = "waiting for processors that other programs used"
"""A note on the page of a program that ran on a busy machine. Such a page reports fewer findings."""
MARK = re.compile(r"#\s*<- ([a-z0-9, -]+)$")


class Zygote:
    def __init__(self, environment: dict[str, str]) -> None:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": "", **environment}
        environment.pop("TUILAB_TESTS_FORKED", None)
        self.environment = environment
        self.process = subprocess.Popen(
            # Pass the code as text, so that its frames, whose loop serves all programs, do not count as a
            # user's file.
            [sys.executable, "-c", Path(__file__).with_name("zygote.py").read_text()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
            start_new_session=True,
        )
        atexit.register(self.end)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def run(self, argv: list[str], environment: dict[str, str], output: Path) -> int:
        told = {
            "argv": argv,
            "environment": {**self.environment, **environment},
            "folder": tempfile.mkdtemp(prefix="tuilab-test-"),
            "output": str(output),
            "observer": str(observer.FOLDER / "sitecustomize.py"),
        }
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()
        try:
            return int(self.process.stdout.readline())
        except BaseException:  # the test's time limit; the next test must not wait for this program
            stuck = psutil.Process(self.process.pid).children(recursive=True)
            for each in stuck:
                each.send_signal(signal.SIGABRT)  # faulthandler prints where each thread is
            psutil.wait_procs(stuck, timeout=5)
            print(output.read_text())
            self.end()
            zygote.cache_clear()
            raise

    def end(self) -> None:
        """End the process and the program that it runs."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@cache
def zygote(environment: tuple[tuple[str, str], ...] = ()) -> Zygote:
    return Zygote(dict(environment))


def watched(
    file: Path,
    environment: tuple[tuple[str, str], ...] = (),
    options: WatchOptions | None = None,
    beside: Callable[[Watched], None] = lambda program: None,
) -> tuple[Page, str]:
    """Run a program under the observer; return its page and output.

    beside: called before the page is built, to add observations of the machine.
    """
    program = Watched((str(file),))
    listener = Listener(program.take)
    output = listener.folder / "output"
    try:
        options = options or WatchOptions(every=1.0, window=0.3)
        telling = {observer.ADDRESS: str(listener.address), observer.OPTIONS: options.words()}
        zygote(environment)
        program.began = time.time()
        program.exit_code = zygote(environment).run([str(file)], telling, output)
        program.ended = time.time()
        listener.close(5.0)
        program.read()
        beside(program)
        return program.page(), output.read_text() if output.exists() else ""
    finally:
        listener.remove()


def watched_text(folder: Path, text: str, **how: Any) -> tuple[Page, str]:
    """Write a program to a file in the folder, and run it like `watched`."""
    file = folder / "train.py"
    file.write_text(text)
    return watched(file, **how)


def others_s() -> float:
    of = psutil.cpu_times()
    own = [psutil.Process(), *psutil.Process().children(recursive=True)]
    used = [each.cpu_times() for each in own if each.is_running()]
    mine = sum(t.user + t.system + t.children_user + t.children_system for t in used)
    return float(of.user + of.nice + of.system - mine)


def expected(file: Path) -> tuple[set[str], set[str], dict[str, set[int]]]:
    """Return the finding codes that a program's first lines require, the codes that these lines allow, and
    the program's lines that are marked with each code.
    """
    text = file.read_text()
    match = EXPECTS.search(text)
    may = MAY.search(text)
    lines: dict[str, set[int]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if mark := MARK.search(line):
            for code in mark[1].split(","):
                lines.setdefault(code.strip(), set()).add(number)
    return (
        {code.strip() for code in match[1].split(",") if code.strip()} if match else set(),
        {code.strip() for code in may[1].split(",") if code.strip()} if may else set(),
        lines,
    )
