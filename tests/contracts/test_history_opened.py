"""Only SQLite opens a history. If other code in the same process opened and closed the file, SQLite would
lose its locks on the file.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.browser.test_served import server
from tests.calling import TUILAB, run
from tests.history.test_check import filled
from tests.made import regular_run
from tests.terminal.lab import REPOSITORY, environment, opened, scripted
from tuilab.cli.history import history
from tuilab.history.recording import write

AUDITED = Path(__file__).with_name("audited")
SHORT = "import time\nprint('begun', flush=True)\ntime.sleep(1)\n"
WORDS = {
    "": [],
    "check": ["--repair"],
    "compare": ["run0", "run1"],
    "delete": ["run2"],
    "undelete": ["run2"],
    "import": ["FOLDER/other.jsonl"],
    "note": ["run0", "a note"],
    "pin": ["run0"],
    "programs": [],
    "prune": ["--days", "0", "--for-good"],
    "save": ["run0", "FOLDER/saved.jsonl"],
    "tag": ["run0", "kept"],
    "unattended": [],
}
"""Arguments of each subcommand of `tuilab history`, in the order in which the test runs them."""


class Audit:
    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "audit.log"
        filled(folder, 3)
        self.env = environment(folder, PYTHONPATH=f"{AUDITED}{os.pathsep}{REPOSITORY}", **self.named())

    def named(self) -> dict[str, str]:
        return {"TUILAB_TESTS_AUDIT": str(self.log), "TMPDIR": str(self.folder)}

    def lines(self, event: str) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line for line in lines if line.startswith(f"{event}\t")]

    def hold(self) -> None:
        assert self.lines("sqlite3.connect") and self.lines("open") == []
        self.log.unlink()


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    return Audit(tmp_path)


def test_every_history_command_opens_it_through_sqlite_alone(audit: Audit) -> None:
    assert set(WORDS) - {""} == set(history.commands)  # type: ignore[attr-defined]
    write(audit.folder / "other.jsonl", regular_run("other", 20))
    for name, words in WORDS.items():
        given = [name] * bool(name) + [word.replace("FOLDER", str(audit.folder)) for word in words]
        done = run(audit.folder, "history", *given, env=audit.env)
        assert done.returncode == 0, (given, done)
        audit.hold()


def test_a_history_named_as_a_file_of_another_kind_stays_closed(audit: Audit) -> None:
    """Even opening the file to detect its kind would drop SQLite's locks."""
    file = str(audit.folder / "history.db")
    for words in (["save", "run0", file], ["import", file]):
        done = run(audit.folder, "history", *words, env=audit.env)
        assert done.returncode == 2 and "history.db" in done.stderr, done
        audit.hold()


@pytest.mark.terminal
def test_a_lab_and_a_watch_in_it_open_it_through_sqlite_alone(audit: Audit) -> None:
    (audit.folder / "train.py").write_text(SHORT)
    with scripted(
        audit.folder, size=(120, 40), PYTHONPATH=audit.env["PYTHONPATH"], **audit.named()
    ) as terminal:
        terminal.see("ready")
        terminal.press("r")
        terminal.see("done,")
        terminal.press("o")
        terminal.see("completes")
        terminal.press("train.py\r")
        terminal.see("run and watch it")
        terminal.press("\r")
        terminal.see("ended with exit code 0")
        terminal.press("q")
        terminal.see("done,")
        terminal.press("h")
        terminal.see("4 runs")
        terminal.press("\x1b")
        terminal.see("done,")
        terminal.press("q")
        assert terminal.ended(30) == 0
    audit.hold()


@pytest.mark.terminal
def test_a_watch_opens_it_through_sqlite_alone(audit: Audit) -> None:
    (audit.folder / "train.py").write_text(SHORT)
    command = (*TUILAB, "watch", "--", sys.executable, "train.py")
    with opened(audit.folder, (120, 40), env=audit.env, command=command) as terminal:
        terminal.see("ended with exit code 0")
        terminal.press("q")
        assert terminal.ended(30) == 0
    audit.hold()


def test_a_served_page_opens_it_through_sqlite_alone(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    for name, value in audit.env.items():
        monkeypatch.setenv(name, value)

    async def a_page(url: str) -> None:
        host = url.split("/")[2]
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await client.get(url)
            async with client.ws_connect(f"http://{host}/ws?width=100&height=30") as page:
                while not audit.lines("sqlite3.connect"):
                    await page.receive(timeout=60)

    with server(audit.folder) as (url, _):
        asyncio.run(a_page(url))
    audit.hold()
