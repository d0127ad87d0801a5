"""Two real users of one machine cannot read, change or block each other's data."""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.test_bad_arguments import TRACE
from tests.documents.test_check_options import CLOCK
from tests.history.test_check import filled
from tests.remote.server import free_port
from tuilab.history.store import FILE

REPOSITORY = Path(__file__).parents[2]
# Tests run in parallel, so each test process uses its own account names.
NAMES = tuple(f"tuilab-{number}{os.environ.get('PYTEST_XDIST_WORKER', '')}" for number in ("one", "two"))


class Users:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.accounts = {name: pwd.getpwnam(name) for name in NAMES}
        self.program = subprocess.Popen(
            [sys.executable, "-m", "tests.attack.other_user"],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def call(self, name: str, *words: str, data: Path, **more: str) -> tuple[int, str, str]:
        account = self.accounts[name]
        home = self.folder / f"home-{name}"
        home.mkdir(exist_ok=True)
        self.give(home, name)
        homes = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("STATE", "CACHE", "CONFIG", "DATA")}
        environment = {
            "HOME": str(home),
            "TMPDIR": str(self.folder / "tmp"),
            "TUILAB_DATA": str(data),
            **homes,
            **more,
        }
        warm = self.folder / "warm"
        shutil.rmtree(warm, ignore_errors=True)
        filled(warm, 2)
        before = {**environment, "TUILAB_DATA": str(warm), "TMPDIR": "/tmp"}
        (self.folder / "warm.py").write_text(CLOCK)
        copied = [str(self.folder / "warm.py") if word.endswith(".py") else word for word in words]
        told = {"words": list(words), "warm": copied, "before": before, "environment": environment}
        assert self.program.stdin is not None and self.program.stdout is not None
        self.program.stdin.write(json.dumps({**told, "uid": account.pw_uid, "gid": account.pw_gid}) + "\n")
        self.program.stdin.flush()
        code, out, err = json.loads(self.program.stdout.readline())
        assert not TRACE.search(out + err) and code != 70, (words, code, out, err)
        return code, out, err

    def act(self, name: str, code: str, warm: str = "", **more: str) -> Any:
        """Run Python code as the user with this name; return the object that the code prints as JSON. The
        code may continue to run until the tests end.

        warm: modules to import first.
        """
        account = self.accounts[name]
        home = self.folder / f"home-{name}"
        home.mkdir(exist_ok=True)
        self.give(home, name)
        environment = {"HOME": str(home), "TMPDIR": str(self.folder / "tmp"), **more}
        told = {"code": code, "warm": warm, "environment": environment}
        assert self.program.stdin is not None and self.program.stdout is not None
        self.program.stdin.write(json.dumps({**told, "uid": account.pw_uid, "gid": account.pw_gid}) + "\n")
        self.program.stdin.flush()
        return json.loads(self.program.stdout.readline())

    def give(self, path: Path, name: str) -> None:
        account = self.accounts[name]
        for each in [path, *path.rglob("*")]:
            os.chown(each, account.pw_uid, account.pw_gid)


@pytest.fixture(scope="module")
def users():
    if not hasattr(os, "getuid") or os.getuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("two users are made by root alone")
    made = []
    for name in NAMES:
        if subprocess.run(["useradd", "-M", "-N", name], capture_output=True).returncode == 0:
            made.append(name)
    if len(made) < len(NAMES):
        for name in made:
            subprocess.run(["userdel", name], check=True)
        pytest.skip("no accounts can be made here")
    # Only the user who runs pytest can read pytest's own folders.
    folder = Path(tempfile.mkdtemp(prefix="tuilab-users-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "tmp").mkdir()
    (folder / "tmp").chmod(0o1777)
    found = Users(folder)
    yield found
    found.program.stdin.close()
    found.program.wait(30)
    # An account is in use until the last process of its user has exited.
    theirs = [p for p in psutil.process_iter(["username"]) if p.info["username"] in made]
    for process in theirs:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(theirs, 10)
    for name in made:
        subprocess.run(["userdel", name], check=True)
    shutil.rmtree(folder)


@pytest.fixture
def data(users):
    folder = users.folder / f"data-{len(list(users.folder.iterdir()))}"
    filled(folder, 3)
    users.give(folder, NAMES[0])
    return folder


def state(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    every = {f.name: (f, f.stat()) for f in folder.rglob("*") if f.is_file()}
    return {name: (s.st_uid, s.st_gid, s.st_mode, f.read_bytes()) for name, (f, s) in every.items()}


@pytest.mark.parametrize(("folder_mode", "file_mode"), [(0o700, 0o600), (0o755, 0o600), (0o777, 0o600)])
def test_private_files_of_another_user_are_neither_read_nor_changed(users, data, folder_mode, file_mode):
    data.chmod(folder_mode)
    (data / FILE).chmod(file_mode)
    before = state(data)
    for words in (
        ["history"],
        ["export", "run1"],
        ["history", "prune", "--days", "0", "--for-good"],
        ["history", "check"],
    ):
        _, out, _ = users.call(NAMES[1], *words, data=data)
        assert "run1" not in out and "stft" not in out, (words, out)
    assert state(data).items() >= before.items()
    code, out, _ = users.call(NAMES[0], "history", data=data)
    assert code == 0 and len(out.splitlines()) == 3


def test_files_shared_for_reading_are_read_and_not_changed(users, data):
    data.chmod(0o755)
    (data / FILE).chmod(0o644)
    before = state(data)
    code, out, err = users.call(NAMES[1], "history", data=data)
    assert code == 0 and len(out.splitlines()) == 3 and "is read-only" in err, (code, out, err)
    code, out, _ = users.call(NAMES[1], "export", "run1", "--format", "csv", data=data)
    assert code == 0 and len(out.splitlines()) == 901
    code, _, err = users.call(NAMES[1], "history", "delete", "run1", data=data)
    assert code == 2 and "nothing was changed" in err
    assert state(data) == before


def test_a_temporary_folder_made_by_another_user_is_not_used(users, data):
    import hashlib

    bad = users.folder / "in-the-way"
    bad.write_text("")
    name = hashlib.sha256(os.fsencode(str(bad / "data"))).hexdigest()[:8]
    trap = users.folder / "tmp" / f"tuilab-{users.accounts[NAMES[0]].pw_uid}-{name}"
    trap.mkdir()
    trap.chmod(0o777)
    users.give(trap, NAMES[1])
    code, _, err = users.call(NAMES[0], "history", data=bad / "data")
    assert code == 0 and "belongs to another user" in err and "in memory" in err, err
    assert not list(trap.iterdir())


def test_fixing_an_article_of_another_user_leaves_it_whole(users, data):
    place = users.folder / "articles"
    place.mkdir()
    file = place / "x.py"
    file.write_text(CLOCK)
    users.give(place, NAMES[0])
    for folder_mode, file_mode in ((0o755, 0o644), (0o777, 0o644), (0o777, 0o666)):
        place.chmod(folder_mode)
        file.chmod(file_mode)
        before = state(place)
        code, _, err = users.call(
            NAMES[1], "check", str(file), "--fix", "--no-worker", data=users.folder / "d2"
        )
        assert code == 2 and "--fix" in err and state(place) == before, (code, err)
    code, _, _ = users.call(NAMES[0], "check", str(file), "--fix", "--no-worker", data=users.folder / "d1")
    assert code == 0 and "perf_counter" in file.read_text()
    found = file.stat()
    assert (found.st_uid, found.st_mode & 0o777) == (users.accounts[NAMES[0]].pw_uid, 0o666)


def test_a_temporary_link_made_by_another_user_is_not_followed(users, data):
    """An attacker who predicts the link's name could otherwise overwrite any of the user's files."""
    precious = users.folder / "precious"
    precious.mkdir()
    (precious / "notes.md").write_text("mine")
    users.give(precious, NAMES[0])
    shared = users.folder / "tmp"
    for name, where in (
        ("file.md", precious / "notes.md"),
        ("new.md", precious / "new.md"),
        ("folder", precious),
    ):
        (shared / name).symlink_to(where)
        account = users.accounts[NAMES[1]]
        os.chown(shared / name, account.pw_uid, account.pw_gid, follow_symlinks=False)
    for name in ("file.md", "new.md", "folder/notes.md", "folder/new.md"):
        for words in (["export", "run1", "-o"], ["history", "save", "run1"]):
            code, _, err = users.call(NAMES[0], *words, str(shared / name), data=data)
            assert code == 2 and "created by another user" in err, (name, code, err)
    assert os.listdir(precious) == ["notes.md"] and (precious / "notes.md").read_text() == "mine"
    (own := shared / "own.md").symlink_to(precious / "notes.md")
    account = users.accounts[NAMES[0]]
    os.chown(own, account.pw_uid, account.pw_gid, follow_symlinks=False)
    code, _, err = users.call(NAMES[0], "export", "run1", "-o", str(own), data=data)
    assert code == 0 and (precious / "notes.md").read_text().startswith("# stft-small"), err


LEAVES = """
import os, time
from pathlib import Path
from tuilab.history.store import Store
from tuilab.lab import watch
from tuilab.lab.files import keep_command
from tuilab.paths import data_folder
from tuilab.runner.watched import Listener
from tuilab.spool import Spool, folder

listener = Listener(lambda *_: None)
(listener.folder / "1-2.xplane.pb").write_bytes(b"a window")
Store.open().close()
spool = Spool("r1", str(folder()))
caught = watch._caught_folder("step")
caught.mkdir()
(caught / "saved_model.pb").write_bytes(b"a graph")
kept = keep_command("tuilab run x")
answer([str(listener.address), *map(str, [*data_folder().rglob("*"), *listener.folder.iterdir(), kept])])
time.sleep(3_600)
"""
TRIES = """
import os, socket, stat
got = []
for path in PATHS:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.close(os.open(path, flags | os.O_NONBLOCK))
            got.append([path, flags])
        except OSError:
            pass
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
        got.append([path, "connected"])
    except OSError:
        pass
    try:
        os.unlink(path)
        got.append([path, "removed"])
    except OSError:
        pass
answer(got)
"""


def test_files_of_runs_and_watched_programs_are_closed_to_other_users(users):
    data = users.folder / "data-open"
    data.mkdir(mode=0o755)
    users.give(data, NAMES[0])
    warm = LEAVES.partition("listener =")[0]
    more = {"TUILAB_DATA": str(data), "XDG_STATE_HOME": str(users.folder / f"home-{NAMES[0]}" / "state")}
    paths = users.act(NAMES[0], LEAVES, warm, **more)
    kinds = {Path(path).name for path in paths}
    assert kinds >= {"socket", FILE, "r1.kept", "saved_model.pb", "command.txt", "1-2.xplane.pb"}, kinds
    assert users.act(NAMES[1], f"PATHS = {paths!r}\n{TRIES}") == []
    assert len(users.act(NAMES[0], f"PATHS = {paths!r}\n{TRIES}")) > len(paths), "its owner can"


SERVES = """
from tuilab.serve import LabServer
server = LabServer("localhost", PORT)
said = server.on_startup
async def on_startup(app):
    await said(app)
    answer([__import__("os").getpid(), server.token])
server.on_startup = on_startup
server.serve()
"""
LISTENS = """
import os, time, urllib.error, urllib.request
got = []
for _ in range(200):
    try:
        urllib.request.urlopen(f"http://localhost:{PORT}/", timeout=20)
    except urllib.error.HTTPError:
        break
    except OSError:
        time.sleep(0.05)
for pid in filter(str.isdigit, set(os.listdir("/proc")) - {str(os.getpid())}):
    for name in ("cmdline", "environ", "fd/2", "mem"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as stream:
                data = stream.read(100_000)
        except OSError:
            continue
        if TOKEN.encode() in data:
            got.append(name)
for path in ("/", "/?token=", "/?token=x", "/ws?width=80&height=24"):
    try:
        urllib.request.urlopen(f"http://localhost:{PORT}{path}", timeout=20)
        got.append(path)
    except urllib.error.HTTPError as error:
        if error.code != 403 or TOKEN in str(error.headers.items()) + error.read().decode():
            got.append([path, error.code])
answer(got)
"""


def test_a_served_lab_is_closed_to_other_users(users):
    pytest.importorskip("textual_serve")
    given = f"PORT = {free_port()}\n"
    pid, token = users.act(
        NAMES[0],
        given + SERVES,
        "import tuilab.serve, aiohttp.web_runner, concurrent.futures.thread, encodings.idna",
    )
    assert Path(f"/proc/{pid}").stat().st_uid == users.accounts[NAMES[0]].pw_uid
    assert (
        users.act(NAMES[1], f"{given}TOKEN = {token!r}\n{LISTENS}", "import urllib.request, encodings.idna")
        == []
    )
