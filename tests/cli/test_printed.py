"""The output during and after a command is short, shows readable names of arms, and fits the terminal's
width.
"""

import contextlib
import re
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.calling import here
from tests.made import EAGER, GRAPH, folded, started
from tests.report.test_reports import run
from tuilab.analysis.summary import summarise
from tuilab.cli.history import echo_line
from tuilab.cli.narrate import Narrator
from tuilab.history.store import Store
from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.moments import when
from tuilab.model.run import RunState
from tuilab.report.rows import aligned, cut, wrapped
from tuilab.report.text import columns, dressed, lines, table

GPUS = tuple(
    Arm("GPU:0", mode, input=where) for mode in ("eager", "graph", "xla") for where in ("resident", "copied")
)
NO_GPU = "no GPU is visible to TensorFlow: no NVIDIA driver is loaded on this host"
STARTED = started("r", EAGER, GRAPH, *GPUS)


def test_states_are_printed_once_but_each_warming_arm_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = Narrator()
    said(STARTED)
    for arm in (EAGER, GRAPH):
        said(e.Progress(run="r", stage="building", arm=arm.id))
        said(e.Progress(run="r", stage="warming up", arm=arm.id))
    for arm in GPUS:
        said(e.ArmStatus(run="r", arm=arm.id, status="unavailable", reason=NO_GPU))
    assert capsys.readouterr().err.splitlines() == [
        "building",
        "warming up CPU eager",
        "warming up CPU graph",
        f"GPU eager resident: unavailable: {NO_GPU}",
    ]


def test_an_error_in_a_users_function_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    said, why = (
        Narrator(),
        "ValueError: Dimensions must be equal, but are 64 and 32 (mine.py, line 3, in step)",
    )
    failed = [
        e.ArmStatus(run="r", arm=arm.id, status="failed", reason=why, detail="Traceback: the whole error")
        for arm in (EAGER, GRAPH)
    ]
    for event in (STARTED, *failed):
        said(event)
    printed = table(summarise(folded(STARTED, *failed, e.Finished(run="r", status="ok"))))
    assert (capsys.readouterr().err + printed).count(why) == 1, printed
    assert "CPU eager, CPU graph: failed" in printed


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    said = Narrator(quiet=True)
    for event in (e.Warming(stage="importing TensorFlow", elapsed_s=1.0), STARTED):
        said(event)
    said(e.ArmStatus(run="r", arm=GPUS[0].id, status="failed", reason="why"))
    assert capsys.readouterr().err == ""


def test_the_first_process_prints_an_early_answer_unless_quiet(capsys) -> None:
    for quiet in (False, True):
        said = Narrator(quiet, lambda: "graph is 2× faster")
        said(STARTED)
        assert "graph is" not in capsys.readouterr().err
        for worker in (1, 2):
            said(msgspec.structs.replace(STARTED, worker=worker))
        assert capsys.readouterr().err.count("after the first process: graph is 2× faster") == (not quiet)


def test_on_a_terminal_lines_break_between_words_and_a_state_stays_on_one(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = Narrator(answer=lambda: "words " * 40)
    said(msgspec.structs.replace(STARTED, worker=1))
    said(e.Progress(run="r", stage="reading the model" * 9))
    found = capsys.readouterr().err.replace("\r\x1b[K", "").splitlines()
    assert all(len(line) <= 80 for line in found) and " ".join(found[:-1]).count("words") == 40


def test_tables_fit_80_columns_and_leave_out_empty_columns() -> None:
    rows = [("2×", "MatMul", "", "a reason of many words " * 6), ("1×", "Relu", "", "short")]
    found = list(aligned(rows, 80))
    assert all(len(line) <= 80 for line in found) and found[0].endswith("…")
    assert found[1].index("short") == found[0].index("a reason") == 14, "an empty column takes no space"
    assert next(aligned(rows)).endswith("of many words")
    lines = columns([["arm " * 30, "1.0 ms"], ["CPU", "2.0 ms"]], 80)
    assert all(len(line) <= 80 for line in lines) and lines[0].endswith("1.0 ms"), "figures are not cut"


def test_prose_breaks_between_words_and_keeps_its_indent() -> None:
    text = "  why        " + "registered for float32 " * 8
    first, *rest = wrapped([text], 80)
    assert first.startswith("  why        reg") and all(line.startswith(" " * 13) for line in rest)
    assert (
        all(len(line) <= 80 for line in (first, *rest)) and " ".join([first, *rest]).split() == text.split()
    )
    assert list(wrapped([text], 0)) == [text]
    figures = "one graph is 4.6× faster round by round (2.9 ms against 11 ms [5.7 17]) at ± 5% of 2.1 GB "
    for most in range(20, 60):
        lines = list(wrapped([figures * 2], most))
        assert not any(re.search(r"([\d.]|±|\[[^\]]*)$|^(ms|%|×|GB)\b", line) for line in lines), most


def test_times_are_local_or_utc_on_request(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    time.tzset()
    try:
        with contextlib.closing(Store.open()) as store:
            store.replace(STARTED, [e.encode(STARTED).rstrip()])
        local, utc = when(STARTED.at), STARTED.at[:16].replace("T", " ")
        assert local != utc
        for words, at in ((["history"], local), (["history", "--utc"], utc), (["--utc", "history"], utc)):
            assert at in here(*words).stdout, words
        assert local in here("history").stdout
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("width", [80, 140])
def test_the_history_fits_the_terminal(monkeypatch, capsys, width) -> None:
    module = sys.modules[echo_line.__module__]
    monkeypatch.setattr(module, "columns", lambda: width)
    echo_line("1aca6f83  2026-11-23 12:28  stft-small            ok", "CPU graph is fastest " * 9)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in lines) and lines[-1].endswith("…")
    assert len(lines) == (2 if width == 80 else 1)


def without_a_gpu() -> RunState:
    events: list[e.Event] = [
        e.ArmStatus(run="r", arm=arm.id, status="unavailable", reason=NO_GPU) for arm in GPUS
    ]
    for index in range(30):
        blocks = tuple(e.Block(arm.id, 0, 10, 0.01 * (1 + index % 5)) for arm in (EAGER, GRAPH))
        events.append(e.Round(run="r", index=index, blocks=blocks, elapsed_s=index / 10))
    for code, message in (("cpu-contention", "the processor was shared"), ("canary", "it moved")):
        events.append(e.Caveat(run="r", code=code, message=message))
    return folded(STARTED, *events, e.Finished(run="r", status="ok"))


def test_arms_unavailable_for_one_reason_share_a_row() -> None:
    text = table(summarise(without_a_gpu()))
    assert f"6 GPU arms: unavailable: {NO_GPU}" in text
    assert text.count(NO_GPU) == 1


def test_caveats_are_summarised_and_listed_on_request() -> None:
    result = summarise(without_a_gpu())
    brief, whole = table(result, details=False), table(result, details=True)
    assert "⚠ busy host, unsteady host, ± " in brief and "--details shows all" in brief
    assert "the processor was shared" not in brief
    assert "! the processor was shared" in whole and "! it moved" in whole and "--details" not in whole


@pytest.mark.parametrize("width", [40, 80, 120])
def test_prose_is_wrapped_at_the_terminals_width_and_figures_stay_aligned(width: int) -> None:
    found = list(lines(summarise(run()), details=True))
    shown = dressed(found, width, lambda role, line: line)
    rows = {line for role, line in found if role in ("row", "head")}
    assert rows <= set(shown.splitlines())
    assert all(len(line) <= width for line in shown.splitlines() if line not in rows)
    assert " ".join(shown.split()) == " ".join(" ".join(line for _, line in found).split())


def test_a_figure_stays_with_its_unit_and_lines_break_after_words() -> None:
    text = "CPU xla spends 93% of each call launching its program. Also: CPU graph (92%). Give it more work"
    for width in range(30, len(text)):
        shown = dressed([("advice", text)], width, lambda role, line: line).splitlines()
        assert all(re.search(r"\d$", line) is None for line in shown), shown
        whole, _, dots = cut(text, width).rpartition("…")
        assert dots == "" and re.match(re.escape(whole) + r"\W", text) and not whole.endswith(("93", "92"))


@pytest.fixture
def beside(monkeypatch, tmp_path) -> Path:
    """Set the terminal's width to 80 columns, and change to a folder with an article to check."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.calling.Stream.isatty", lambda self: True)
    (tmp_path / "article.md").write_text(ARTICLE)
    return tmp_path


ARTICLE = """# Fast

```python
import time
import tensorflow as tf
a = tf.random.normal((2000, 2000))
start = time.time()
with tf.device("/GPU:0"):
    c = tf.matmul(a, a)
print("GPU:", time.time() - start)
```
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("check", "article.md", "--no-worker"), "only the first call of tf.matmul is timed"),
        (("presets",), "Small STFT: 256 samples"),
        (("run", "zzzz"), "preset: got 'zzzz'; expected the name of a preset (`tuilab presets` lists all)"),
        (("run", "digits.keras"), "digits.keras: there is no such file"),
        (("history", "delete", "zzzzzz"), "expected the beginning of exactly one id"),
        (
            ("watch", "--open", "zzzzzz"),
            "a file written by `tuilab watch --json`, or the beginning of exactly",
        ),
        (("watch", "--plain", "missing.py"), "got 'missing.py'; expected an existing Python file"),
    ],
)
def test_no_command_breaks_a_word_at_80_columns(beside, words, says) -> None:
    done = here(*words)
    printed = (done.stdout + done.stderr).splitlines()
    assert all(len(line) <= 80 for line in printed)
    assert says in " ".join(" ".join(printed).split())


def test_a_file_ending_without_a_format_is_refused(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    with contextlib.closing(Store.open()) as store:
        store.replace(STARTED, [e.encode(STARTED).rstrip()])
    for name, refused in (("run.pdf", True), ("run.svg", True), ("run.html", False), ("run.txt", False)):
        done = here("export", "last", "-o", str(tmp_path / name))
        assert done.returncode == (2 if refused else 0)
        assert (name in done.stderr and ".html" in done.stderr) == refused, done.stderr
        assert (tmp_path / name).exists() != refused
    assert here("export", "last", "-o", str(tmp_path / "x.pdf"), "--format", "csv").returncode == 0
