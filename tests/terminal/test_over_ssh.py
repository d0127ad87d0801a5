"""Remote use: the lab over real ssh, in tmux, with a real worker."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.data_folder import knowing
from tests.remote.conftest import sshd  # noqa: F401
from tests.remote.server import Sshd
from tests.terminal.lab import COMMAND, LIBRARY_LOG, READY_S, REPOSITORY, environment, left_of
from tests.terminal.terminal import Terminal

pytestmark = [pytest.mark.terminal, pytest.mark.real_worker, pytest.mark.timeout(240)]


@pytest.fixture
def tmux(tmp_path: Path):
    """Yield the command of a tmux server for the test. The server is stopped at the end."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("tmux is not installed")
    words = [program, "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    yield words
    subprocess.run([*words, "kill-server"], capture_output=True, timeout=10)


def labs(home: Path) -> list[psutil.Process]:
    """Return the processes that use this data folder: the lab and its worker."""
    found = []
    for process in psutil.process_iter():
        try:
            ours = any(word in ("tuilab", "tuilab.worker") for word in process.cmdline())
            if ours and process.environ().get("TUILAB_DATA") == str(home):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_a_run_works_inside_tmux_over_ssh(tmp_path: Path, sshd: Sshd, tmux: list[str]) -> None:  # noqa: F811
    home = tmp_path / "home"
    home.mkdir()
    own = {
        "TUILAB_DATA": knowing(home),
        "XDG_CONFIG_HOME": home,
        "PYTHONPATH": REPOSITORY,
        "LC_ALL": "C.UTF-8",
    }
    lab = shlex.join(["env", *(f"{name}={value}" for name, value in own.items()), *COMMAND])
    far = shlex.join(["env", "LC_ALL=C.UTF-8", *tmux, "-u", "new-session", lab])
    client = ["ssh", "-F", str(sshd.folder / "config"), "-t", "gpu-07", far]
    terminal = Terminal(client, environment(home), (120, 40), cwd=str(home))
    try:
        terminal.see("ready", seconds=READY_S)
        inside = {p.environ().get("TERM") for p in labs(home)}
        terminal.press("\r")
        terminal.see("done,", "• CPU eager", "claim:", seconds=90)
        terminal.press("c")
        terminal.compares()
        processes = labs(home)
        groups = {os.getpgid(p.pid) for p in processes}
        terminal.press("q")
        assert terminal.ended(20) == 0
        terminal.until(lambda: not left_of(groups), 5, "lab and worker gone")
    finally:
        terminal.close()
        for process in labs(home):
            process.kill()
    assert len(processes) >= 2, "lab and worker"
    assert {term.partition("-")[0] for term in inside} <= {"screen", "tmux"} and inside
    assert not LIBRARY_LOG.findall(bytes(terminal.sent))
