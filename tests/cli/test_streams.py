"""Commands with unusual streams: closed, full, without a reader, or with an impossible screen size."""

import os
import subprocess
import sys

import pytest

from tests.calling import TUILAB, environment
from tests.history.test_check import filled

FULL = "/dev/full"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    filled(folder, 3)
    return folder


def shell(data, line, before="", **more):
    words = f"{before} {' '.join(TUILAB)} {line}; exit ${{PIPESTATUS[0]}}"
    return subprocess.run(
        ["bash", "-c", words], env=environment(data, **more), capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("line", ["export run1 --format csv", "check --rules", "presets", "--help"])
def test_a_reader_that_closes_the_pipe_does_not_cause_the_exit_code_of_findings(data, line):
    done = shell(data, f"{line} | head -1")
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.skipif(not os.path.exists(FULL), reason="no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("line", ["history", "export run1 --format csv", "presets"])
def test_a_full_output_device_is_named(data, line, unbuffered):
    done = shell(data, f"{line} > {FULL}", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (2, "tuilab: standard output: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="no limits")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_file_that_cannot_grow_is_a_failure(data, tmp_path, unbuffered):
    """If output is unbuffered, Python takes a partial write for a complete one."""
    out = tmp_path / "rules"
    done = shell(data, f"check --rules > {out}", "ulimit -f 4;", PYTHONUNBUFFERED=unbuffered)
    assert out.stat().st_size == 4 * 1024
    assert (done.returncode, done.stderr) == (2, "tuilab: standard output: File too large\n")


@pytest.mark.smoke
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_an_output_file_never_takes_the_number_of_a_closed_stream(data, tmp_path, closed):
    file = tmp_path / "page.csv"
    done = shell(data, f"export run1 --format csv -o {file} {closed}")
    assert done.returncode == 0 and file.read_text().startswith("run,arm"), done
    assert len(file.read_text().splitlines()) == 901
    assert shell(data, f"history tag run1 x {closed}").returncode == 0
    opens = "from tuilab.streams import repair_streams; import os; repair_streams(); os._exit(os.open('/', 0) > 2)"
    words = f'{sys.executable} -c "{opens}" {closed}'
    assert subprocess.run(["bash", "-c", words], timeout=60).returncode == 1, (
        "an opened file must not take the number of a stream"
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "line",
    ["presets", "history", "hosts", "check --rules", "completion bash", "export run1 --format csv", "--help"],
)
def test_a_closed_stream_loses_only_its_own_output(data, line, closed):
    whole, done = shell(data, line), shell(data, f"{line} {closed}")
    assert whole.returncode == 0 == done.returncode, done
    assert done.stdout == whole.stdout * (">&-" not in closed.split()), done
    assert done.stderr == whole.stderr * ("2>&-" not in closed.split()), done


def test_a_dash_means_standard_output(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in ("export run1 --format csv", "check --no-worker - <<< 'import tensorflow as tf'"):
        plain, dash = shell(data, line), shell(data, line.replace(" ", " -o - ", 1))
        assert dash.stdout == plain.stdout and dash.returncode == 0 == plain.returncode, dash
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["99999999999", "-1", "0", "x", "\u0663"])
def test_an_impossible_screen_size_is_ignored(data, size):
    done = shell(data, "history", COLUMNS=size, LINES=size)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 3, done
    code = "from tuilab.streams import repair_streams; import os; repair_streams(); print({'COLUMNS', 'LINES'} & set(os.environ))"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(data, COLUMNS=size, LINES=size),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert told.stdout == "set()\n", told


def test_a_tag_is_one_word(data):
    assert shell(data, "history tag run0 nightly").returncode == 0
    assert "#nightly" in shell(data, "history --search run0").stdout
    assert shell(data, "history tag run0 nightly --off").returncode == 0
    assert "#" not in shell(data, "history --search run0").stdout


@pytest.mark.parametrize("closed", ["</dev/null", "<&-", "2>&-", "2>/dev/full", "<&- >&- 2>&-"])
def test_the_lab_without_a_terminal_is_bad_input_whichever_streams_are_closed(data, closed):
    done = shell(data, closed)
    text = "tuilab: the lab needs a terminal; `tuilab run PRESET` works without one\n"
    assert done.returncode == 2 and done.stderr == text * ("2>" not in closed), done
