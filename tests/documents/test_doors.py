"""Paths that are not ordinary documents: pipes, devices, invalid names, files that change during a fix."""

import json
import os
import sys

import pytest

from tests import calling
from tests.documents.test_check_options import CLOCK, NO_WAIT
from tuilab.documents.checker import fix
from tuilab.documents.checker.files import check_file
from tuilab.documents.checker.settings import CheckSettings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes and names of any bytes are Linux's")
SECONDS = 60.0


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(place, *words):
    return calling.run(place / "data", "check", "--no-worker", *words, seconds=SECONDS, cwd=place)


def test_a_folder_with_a_pipe_and_a_device_is_checked_without_them(place):
    (place / "docs").mkdir()
    os.mkfifo(place / "docs" / "pipe.md")
    (place / "docs" / "zero.py").symlink_to("/dev/zero")
    (place / "docs" / "wrong.py").write_text(NO_WAIT)
    done = check(place, "docs")
    assert done.returncode == 1 and "1 file checked" in done.stderr, done
    assert check(place, "docs", "--fix").returncode == 1


@pytest.mark.parametrize(
    "words", [["pipe.md"], ["x.py", "--baseline", "pipe.md"], ["x.py", "--config", "pipe.md"]]
)
def test_a_pipe_that_is_named_is_refused_at_once(place, words):
    os.mkfifo(place / "pipe.md")
    (place / "x.py").write_text(NO_WAIT)
    done = check(place, *words)
    assert done.returncode == 2 and "a pipe" in done.stderr, done


def test_what_the_lab_remembers_may_be_a_pipe(place):
    for name in ("state", "config", "cache", "data"):
        (place / name / "tuilab").mkdir(parents=True)
    os.mkfifo(place / "state" / "tuilab" / "preferences.json")
    (place / "data" / "machines").mkdir()
    os.mkfifo(place / "data" / "machines" / "x.json")
    os.mkfifo(place / "data" / "history.db")
    homes = {f"XDG_{name.upper()}_HOME": str(place / name) for name in ("state", "config", "cache")}
    environment = {**os.environ, **homes, "TUILAB_DATA": str(place / "data"), "TMPDIR": str(place)}
    done = calling.run(place / "other", "history", seconds=SECONDS, env=environment)
    assert done.returncode == 0 and "history.db cannot be opened: it is a pipe" in done.stderr, done
    code = "from tuilab.lab.files import preferences; from tuilab.history.roofs import load_roofs; print(preferences(), load_roofs())"
    done = calling.subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=SECONDS, capture_output=True, text=True
    )
    assert done.returncode == 0 and "theme=''" in done.stdout, done


@pytest.mark.parametrize("layout", ["text", "json", "sarif", "github", "full"])
def test_a_name_that_is_no_text_is_written_with_its_bytes(place, layout):
    name = os.fsdecode(b"docs/wrong-\xff\x80.py")
    (place / "docs").mkdir()
    (place / name).write_text(NO_WAIT)
    done = check(place, "docs", "--format", layout)
    assert done.returncode == 1, done
    assert "wrong-" in done.stdout and "TL103" in done.stdout
    if layout in ("json", "sarif"):
        assert json.loads(done.stdout)
    if layout == "json":
        assert json.loads(done.stdout)["files"][0]["path"] == "docs/wrong-\\xff\\x80.py"
    if layout == "text":
        assert check(place, "docs", "--write-baseline", "base.json").returncode == 0
        assert check(place, "docs", "--baseline", "base.json").returncode == 0
        assert check(place, name, "--fix").returncode == 1


def mended(file, monkeypatch, then):
    """Run `check --fix` on a file that another program changes at the same time."""
    from tuilab.documents import read
    from tuilab.documents.api.tables import shipped

    report = read(file, shipped())
    then("read")
    fixed = fix.fix(file, report, CheckSettings())
    then("worked out")
    return fixed


def test_a_file_saved_during_a_fix_keeps_its_content(place, monkeypatch):
    file = place / "x.py"
    for moment in ("read", "worked out"):
        file.write_text(CLOCK)
        later = f"import os\n{CLOCK}"

        def then(now, moment=moment, later=later):
            if now == moment:
                file.write_text(later)

        fixed = mended(file, monkeypatch, then)
        if fixed is not None:
            with pytest.raises(OSError, match="changed during the fix"):
                fixed.write()
        assert file.read_text() == later, moment
    file.write_text(CLOCK)
    fixed = mended(file, monkeypatch, lambda now: None)
    fixed.write()
    assert "perf_counter" in file.read_text()


def test_a_file_that_disappears_during_reading_is_reported(place):
    from tuilab.documents.checker.files import CheckJob

    result = check_file(place / "gone.md", CheckJob(None, CheckSettings()), named=False)
    assert result.error and result.path.endswith("gone.md")
