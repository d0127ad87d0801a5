"""A watched program's page is saved in the history, exported, and compared with another page."""

from pathlib import Path

import msgspec
import pytest

from tests.calling import here
from tests.watch.running import watched_text
from tuilab.history import programs
from tuilab.history.store import Store
from tuilab.lab import watch
from tuilab.lab.watch import READING, Watched, without_secrets
from tuilab.model.errors import InputError
from tuilab.model.program import (
    Bottleneck,
    Function,
    Hello,
    Page,
    StepPart,
    Steps,
    StepTimes,
    Together,
    Traces,
    Window,
)
from tuilab.program.case import Beside, Case
from tuilab.program.fold import MOST_STEPS, Process
from tuilab.program.page import functions, page_of
from tuilab.program.window import Seen


def test_the_page_of_an_ended_program_is_built_once_and_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page built before the exit code was known would hide that the program has ended."""
    built = []
    monkeypatch.setattr(watch, "page_of", lambda *a, **k: built.append(k["exit_code"]) or page_of(*a, **k))
    program = Watched(("python", "train.py"))
    program.take(1, Function(number=0, name="step", file="train.py", line=3, own=True), None)
    program.ended = program.began + 9.0
    assert program.page().exit_code is None
    program.exit_code = 3
    ended = program.page()
    assert ended.exit_code == 3 and program.page() is ended and built == [None, 3]
    program.take(1, Hello(pid=7, parent=1), None)
    assert [row.pid for row in program.page().processes] == [7]
    program.faults.append("a fault")
    assert "a fault" in program.page().notes and built == [None, 3, 3, 3]


def page(median_s: float, waiting: float, *codes: str) -> Page:
    return Page(
        command=("python", "train.py"),
        at="2026-01-01T00:00:00+00:00",
        steps=StepTimes(n=100, median_s=median_s, ci95_s=(0.95 * median_s, 1.05 * median_s), kind="keras"),
        parts=(
            StepPart(name="waiting for input", seconds=waiting * median_s, share=waiting),
            StepPart(name="compute on CPU", seconds=(1 - waiting) * median_s, share=1 - waiting),
        ),
        findings=tuple(Bottleneck(code=code, message="<script>", file="train.py", line=3) for code in codes),  # type: ignore[arg-type]
    )


def test_pages_are_stored_and_replaced_and_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    store = Store.open()
    programs.keep(store, "w1111", page(0.5, 0.5))
    programs.keep(store, "w1111", page(0.095, 0.83, "input-bound"))
    programs.keep(store, "w2222", page(0.021, 0.08))
    other = msgspec.structs.replace(page(0.021, 0.08), command=("python", "fit.py", "3"))
    programs.keep(store, "w3333", other)
    assert {name for name, _ in programs.listed(store, 9)} == {"w1111", "w2222", "w3333"}
    store.close()
    assert (
        "95.0 ms → 21.0 ms a step\nwaiting for input 83% → 8%\n"
        in here("history", "compare", "w1", "w2").stdout
    )
    assert "fixed: input-bound" in here("history", "compare", "w1", "w2").stdout
    differs = "! different commands: python train.py and python fit.py 3\n"
    assert differs in here("history", "compare", "w1", "w3").stdout
    listed = here("history", "programs").stdout
    assert "w1111" in listed and "python train.py" in listed and "95.0 ms" in listed
    assert (
        msgspec.json.decode(here("export", "w1", "--format", "json").stdout.encode(), type=Page).steps.n
        == 100
    )
    assert "&lt;script&gt;" in here("export", "w1", "--format", "html").stdout
    out = tmp_path / "out.json"
    assert here("watch", "--open", "w1", "w2", "--json", str(out)).returncode == 0
    assert len(msgspec.json.decode(out.read_bytes(), type=Together).programs) == 2
    assert "--fail-o" in here("watch", "--open", "w1", "--fail-o", "any").stderr
    assert here("watch", "--open", "w1", "--fail-on", "any").returncode == 1
    assert here("export", "w4").returncode == here("export", "w").returncode == 2
    with pytest.raises(InputError):
        programs.find(Store.open(), "w9")


@pytest.mark.long
def test_half_an_hour_of_quick_steps_is_counted_in_constant_memory(tmp_path: Path) -> None:
    """The observer reports four times a second, with a total of 50,000 steps per minute."""
    process, each = Process(), 50_000 // 240
    process.apply(Function(number=0, name="step"))
    for told in range(30 * 240):
        at = [0.25 * told + 0.0012 * index for index in range(each)]
        process.apply(Steps(now=0.25 * told, calls=tuple((0, start, start + 0.001, False) for start in at)))
    assert process.steps.n == 30 * 240 * each
    assert len(process.steps.starts) <= MOST_STEPS
    assert process.times().median_s == pytest.approx(0.0012)


def test_ten_thousand_functions_give_one_row_for_each_code_object() -> None:
    process = Process()
    for number in range(10_000):
        process.apply(
            Function(number=number, name="step", file="train.py", line=3 + number // 5_000, own=True)
        )
        process.apply(Traces(number=number, traces=((0.01, None),)))
    rows = functions(Case(process, {}, Beside()))
    assert [(row.line, row.traces) for row in rows] == [(3, 5_000), (4, 5_000)]


def test_secrets_of_the_command_are_not_stored() -> None:
    words = ("train.py", "--api-key", "abc", "--token=def", "SECRET_KEY=ghi", "--epochs", "3")
    assert without_secrets(words) == (
        "train.py",
        "--api-key",
        "…",
        "--token=…",
        "SECRET_KEY=…",
        "--epochs",
        "3",
    )


def test_pages_kept_elsewhere_are_reported_and_restored(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "in-the-way" / "data"))
    (tmp_path / "in-the-way").write_text("")
    watched = Watched(("train.py",))
    assert "has not been saved to the history yet: runs are saved in" in watched.keep()
    (tmp_path / "in-the-way").unlink()
    store = Store.open()
    assert [program for program, _ in programs.listed(store, 9)] == [watched.program]
    store.close()
    assert watched.keep() == "" and len(programs.listed(Store.open(), 9)) == 1


def test_windows_are_read_until_their_share_of_the_programs_cpu_time_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two windows of each kind of step are always read.

    The first, the last and the middle windows are read first.
    """
    clock, opened = [0.0], list[float]()

    def look(data: bytes, usual: float) -> Seen:
        clock[0] += 1.0
        opened.append(float(data))
        return Seen()

    monkeypatch.setattr("tuilab.lab.watch.look", look)
    monkeypatch.setattr("tuilab.lab.watch.process_time", lambda: clock[0])
    watched = Watched(("python",))
    process = watched.processes[1] = Process()
    process.cpu = 2.5 / READING
    for number in range(9):
        (tmp_path / str(number)).write_text(str(number))
        step = 7 if number == 6 else 1
        watched.files.setdefault(1, []).append(
            (Window(start=number, end=number, step=step), tmp_path / str(number))
        )
    watched.read()
    assert opened == [0, 8, 4, 6]
    watched.read()
    assert len(opened) == 4
    process.cpu *= 10
    watched.read()
    assert sorted(opened) == list(range(9))


def test_the_first_window_of_each_kind_of_step_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the window only at the program's end would delay the page. A second window of the same kind
    must wait until the program's processor time is known.
    """
    opened = list[float]()

    def look(data: bytes, usual: float) -> Seen:
        opened.append(float(data))
        return Seen()

    monkeypatch.setattr("tuilab.lab.watch.look", look)
    monkeypatch.setattr("tuilab.lab.watch.process_time", lambda: float(len(opened)))
    watched = Watched(("python",))
    for number, step in enumerate((1, 1, 7, 7)):
        (tmp_path / str(number)).write_text(str(number))
        watched.take(1, Window(start=number, end=number, step=step), tmp_path / str(number))
    assert opened == [0, 2]
    watched.take(1, Window(start=9.0, end=9.5, step=9), None)
    watched.read()
    assert sorted(opened) == [0, 1, 2, 3] and len(watched.processes[1].opened) == 5


PHASES = """
import time
import tensorflow as tf

step, x, end = tf.function(lambda x: x * 0.5), tf.ones((4, 4)), time.perf_counter() + 1
while time.perf_counter() < end:
    x = step(x)
while time.perf_counter() < end + 3:
    pass
"""


@pytest.mark.slow
def test_windows_without_a_whole_step_are_not_read(tmp_path: Path) -> None:
    seen = list[Process]()
    watched_text(tmp_path, PHASES, beside=lambda of: seen.extend(of.processes.values()))
    (process,) = seen
    read = {window for window, _ in process.windows}
    assert read and any(not window.steps for window in process.opened)
    assert read == {window for window in process.opened if window.steps}


REBUILT = """
import tensorflow as tf

def work(x):
    return tf.reduce_sum(x @ x)

x = tf.ones((300, 300))
for _ in range(150):
    step = tf.function(work)
    for _ in range(7):
        step(x)
"""


@pytest.mark.slow
def test_functions_that_a_loop_makes_again_are_one_kind_of_step(tmp_path: Path) -> None:
    """A loop creates a function for each step. A window for a single function would see no whole step,
    because the program soon calls the next function.
    """
    seen = list[Process]()
    watched_text(tmp_path, REBUILT, beside=lambda of: seen.extend(of.processes.values()))
    (process,) = seen
    assert max(window.steps for window in process.opened) > 7
