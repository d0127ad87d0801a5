"""The account of a watched program: rows that add up, a tree by line, and a headline about the longest
parts.
"""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType, SimpleNamespace

import msgspec
import pytest

from tests.watch.running import BUSY, watched, watched_text
from tuilab.model import program as p
from tuilab.model.errors import InputError
from tuilab.model.quantity import seconds
from tuilab.observer.tuilab_observer.account import Account
from tuilab.observer.tuilab_observer.calls import Calls
from tuilab.observer.tuilab_observer.hook_keras import see_keras
from tuilab.observer.tuilab_observer.places import Places
from tuilab.observer.tuilab_observer.sampling import Meanwhile
from tuilab.observer.tuilab_observer.state import state
from tuilab.program.account import account, by_kind, headline, tree
from tuilab.program.case import Beside
from tuilab.program.fold import Process
from tuilab.program.gains import at_most, most_saved
from tuilab.program.page import page_of
from tuilab.report.program import page_text
from tuilab.runner.watched import command_of

OUTER, INNER = ("/home/me/train.py", 3), ("/home/me/lib/features.py", 7)
PREDICT = ("/home/me/train.py", 10)


def process() -> Process:
    of = Process()
    of.apply(p.Hello(pid=1, parent=0, script="train.py", folder="/home/me"))
    first = (("importing", (OUTER,), "", "<module>", 2.0), ("python", (OUTER, INNER), "", "features", 1.0))
    second = (
        ("python", (OUTER, INNER), "", "features", 3.0),
        ("graphs", (PREDICT,), "Model.predict", "<module>", 10.0),
        ("input", (PREDICT,), "Model.predict", "<module>", 3.5),
    )
    of.apply(p.Account(rows=first, wall=3.0))  # type: ignore[arg-type]
    counted = ((*PREDICT, "Model.predict", 120, 120),)
    of.apply(p.Account(rows=second, calls=counted, wall=19.5, final=True))  # type: ignore[arg-type]
    of.apply(p.End(now=19.5))
    return of


def test_messages_add_up_to_the_duration_of_the_program() -> None:
    rows = account(process(), 20.0)
    assert sum(row.seconds for row in rows) == pytest.approx(20.0)
    assert rows[0].stack == ("train.py:10",) and rows[0].count == 120
    assert by_kind(rows) == {
        "running graphs": 10.0, "Python and NumPy": 4.0, "waiting for input": 3.5, "importing": 2.0, "ending": 0.5,
    }  # fmt: skip


def test_time_before_the_first_sample_and_after_the_last_message_is_named() -> None:
    of = process()
    assert of.hello is not None
    of.hello = msgspec.structs.replace(of.hello, began=5.0, now=8.0, clock=1003.0)
    rows = {row.function: row.seconds for row in account(of, 20.0, 999.7) if row.kind == "unknown"}
    assert rows == {"starting": pytest.approx(0.3), "ending": pytest.approx(0.2)}
    of.ended = False
    rows = {row.function: row.seconds for row in account(of, 20.0, 999.7) if row.kind == "unknown"}
    assert rows == {"starting": pytest.approx(0.3), "": pytest.approx(0.2)}, (
        "the time after the last report of a killed program is unknown"
    )


def test_the_headline_describes_each_keras_call_and_names_its_line() -> None:
    said = headline(account(process(), 20.0), 20.0)
    assert said == (
        "20 s: 14 s predicting row by row (line 10), 4.0 s Python and NumPy, 2.0 s importing, 0.5 s ending"
    )


def test_the_tree_gives_each_line_its_total_time() -> None:
    root = tree(account(process(), 20.0))
    assert root.seconds == pytest.approx(20.0)
    first, second = root.sorted()
    assert (first.place, first.seconds, first.calls) == ("train.py:10", 13.5, {"Model.predict"})
    assert (second.place, second.seconds, [line.place for line in second.sorted()]) == (
        "train.py:3",
        6.0,
        ["lib/features.py:7"],
    )


def here() -> FrameType:
    return sys._getframe()


def test_a_sample_lists_own_lines_outermost_first() -> None:
    seen = Account(time.perf_counter() - 1.0)
    seen.sample(here())
    [((kind, lines, call, function), seconds)] = seen.take()
    assert (kind, call, function) == ("python", "", "here") and seconds >= 1.0
    assert lines[-1] == (__file__, here.__code__.co_firstlineno + 1)
    assert lines[-2][0] == __file__ and seen.take() == []


def test_packages_in_a_folder_that_pip_filled_are_not_the_users_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings used to name lines of Keras if pip had installed Keras into a separate folder."""
    for folder in ("packages", "project"):
        monkeypatch.syspath_prepend(tmp_path / folder)
    (tmp_path / "packages" / "keras-3.0.dist-info").mkdir(parents=True)
    places = Places()
    assert not places.is_own(str(tmp_path / "packages" / "keras" / "trainer.py"))
    assert places.is_own(str(tmp_path / "project" / "train.py"))


def test_the_account_continues_while_the_observing_thread_is_busy() -> None:
    seen, end = Account(time.perf_counter()), time.monotonic() + 30
    with Meanwhile(seen):
        while not seen.rows and time.monotonic() < end:
            pass
    [((kind, lines, _, _), seconds), *_] = seen.take()
    assert (kind, lines[-1][0]) == ("python", __file__) and seconds > 0


def test_samples_do_not_keep_in_step_with_the_program() -> None:
    seen, waits = Account(time.perf_counter()), list[float]()
    for _ in range(200):
        seen.wait(SimpleNamespace(wait=lambda seconds: waits.append(seconds)))  # type: ignore[arg-type]
    assert sum(waits) / len(waits) == pytest.approx(seen.pause, rel=0.02)
    moments = [sum(waits[:n]) % seen.pause / seen.pause for n in range(len(waits))]
    assert all(sum(n / 10 <= at < (n + 1) / 10 for at in moments) < 40 for n in range(10))


def test_waiting_for_the_observer_at_exit_belongs_to_no_line() -> None:
    seen = Account(time.perf_counter() - 3.0)
    seen.sample(here())
    seen._last, seen.ended = seen._last - 5.0, seen._last - 4.0
    seen.sample(None)
    ((kind, lines, _, _), own), (ending, last) = seen.take()
    assert (kind, lines[-1][0], ending) == ("python", __file__, ("unknown", (), "", "ending"))
    assert own == pytest.approx(4.0, abs=0.5) and last == pytest.approx(4.0, abs=0.5)


def test_seconds_outside_timed_calls_belong_to_the_code_around_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a loop with short iterations, every sample falls into the call that releases the interpreter lock."""
    call = "graphs", (PREDICT,), "Function.__call__", "train"
    monkeypatch.setattr(Account, "_row", lambda *_: (call, False))
    seen = Account(time.perf_counter() - 10.0)
    seen._in_calls = 3.0
    assert seen.enter() and not seen.enter()
    seen.sample(here())
    seen.leave()
    rows = dict(seen.take())
    assert rows[call] == pytest.approx(3.0, abs=0.5)
    assert rows["python", (PREDICT,), "", "train"] == pytest.approx(7.0, abs=0.5)


MOSTLY = """
import time
import tensorflow as tf

step = tf.function(lambda x: tf.reduce_sum(x @ x))
x, slept = tf.ones((64, 64)), 0.0
for number in range(2_000):
    step(x)
    sum(range(20_000))
    if number % 40 == 39:
        at = time.perf_counter()
        time.sleep(0.03)
        slept += time.perf_counter() - at
print(slept)
"""


@pytest.mark.slow
def test_python_before_a_sleep_is_not_on_the_line_of_the_sleep(tmp_path: Path) -> None:
    page, printed = watched_text(tmp_path, MOSTLY)
    line = sum(row.seconds for row in page.account if row.stack and row.stack[-1].endswith(":12"))
    slept = float(printed.splitlines()[-1])
    assert 0.8 * slept < line < 1.3 * slept, page.account
    found = next((each for each in page.findings if each.line == 12), None)
    assert found is None or (found.saves_s or 0.0) < 1.3 * slept


GREEDY = """
import json, time
import numpy as np
import tensorflow as tf

step = tf.function(lambda x: tf.reduce_sum(x @ x))
x, spent = tf.ones((64, 64)), [0.0, 0.0, 0.0]
for _ in range(1_200):
    step(x)
    at = time.perf_counter()
    for k in range(20_000): k * k
    spent[0] += time.perf_counter() - at
    at = time.perf_counter()
    RELEASE
    spent[1] += time.perf_counter() - at
print(json.dumps(spent))
"""


@pytest.mark.slow
@pytest.mark.parametrize("release", ["np.random.default_rng(0).standard_normal(8)", "y = x[:2] + 1.0"])
def test_python_is_not_on_the_next_line_that_releases_the_interpreter_lock(
    tmp_path: Path, release: str
) -> None:
    page, printed = watched_text(tmp_path, GREEDY.replace("RELEASE", release))
    spent = json.loads(printed.splitlines()[-1])
    looped, released = (
        sum(row.seconds for row in page.account if row.stack and row.stack[-1].endswith(line))
        for line in (":11", ":14")
    )
    # On a busy host, the sampling thread is late for some samples.
    assert 0.5 * spent[0] < looped < 1.3 * spent[0], page.account
    assert released < spent[1] + 0.4 * spent[0], page.account
    found = [each.line for each in page.findings if each.code == "between-steps"]
    assert found == [11] or any(BUSY in note for note in page.notes)


def test_the_switch_interval_is_short_only_while_a_sample_is_awaited_and_no_other_thread_runs() -> None:
    usual, seen, during = sys.getswitchinterval(), Account(time.perf_counter()), list[float]()
    awaits = SimpleNamespace(wait=lambda _: during.append(sys.getswitchinterval()))
    seen.wait(awaits)  # type: ignore[arg-type]
    assert during.pop() < usual / 10 and sys.getswitchinterval() == pytest.approx(usual)
    stop = threading.Event()
    other = threading.Thread(target=lambda: [sum(range(1_000)) for _ in iter(stop.is_set, True)])
    other.start()
    try:
        for _ in range(5):
            seen.look()
            time.sleep(0.01)
        seen.wait(awaits)  # type: ignore[arg-type]
    finally:
        stop.set()
        other.join()
    assert during.pop() == pytest.approx(usual)


COLLECTED = """
import _thread, gc, os, threading, time
from tuilab.observer.tuilab_observer.account import Account

seen, samples = Account(time.perf_counter()), threading.Event()

def sample():
    own = threading.get_ident()
    gc.callbacks.append(lambda *_: time.sleep(0.002) if threading.get_ident() == own else None)
    for _ in range(30):
        seen.look()
    samples.set()

gc.set_threshold(3)
for _ in range(20):
    threading.Thread(target=lambda: [time.sleep(0.001) for _ in iter(int, 1)], daemon=True).start()
_thread.start_new_thread(sample, ())
while not samples.is_set():
    _thread.start_new_thread(lambda: None, ())
    time.sleep(0.0001)
os._exit(0)
"""


def test_a_garbage_collection_during_a_sample_does_not_stop_the_program() -> None:
    """Its finalizers may release the interpreter lock, and another thread may then start."""
    done = subprocess.run([sys.executable, "-c", COLLECTED], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_switch_interval_of_the_programs_own_stays() -> None:
    usual, seen = sys.getswitchinterval(), Account(time.perf_counter())
    try:
        seen.wait(SimpleNamespace(wait=lambda _: sys.setswitchinterval(0.02)))  # type: ignore[arg-type]
        assert sys.getswitchinterval() == pytest.approx(0.02)
    finally:
        sys.setswitchinterval(usual)


CLOCKED = """
import json, time
import tensorflow as tf

step = tf.function(lambda x: tf.reduce_sum(x @ x))
x, spent = tf.ones((64, 64)), {"graphs": 0.0, "python": 0.0}
end = time.perf_counter() + 3
while time.perf_counter() < end:
    at = [time.perf_counter(), step(x), time.perf_counter(), sum(range(30_000)), time.perf_counter()]
    spent["graphs"] += at[2] - at[0]
    spent["python"] += at[4] - at[2]
print(json.dumps(spent))
"""


SLEEPY = """
import time
import tensorflow as tf

step = tf.function(lambda x: tf.reduce_sum(x @ x))
x, slept = tf.ones((400, 400)), 0.0
for _ in range(250):
    float(step(x)), sum(range(60_000))
    at = time.perf_counter()
    time.sleep(0.008)
    slept += time.perf_counter() - at
print(slept)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ops", "error"),
    [("float(step(x)), sum(range(60_000))", 0.3), ("[x + 1.0 for _ in range(500)]", 0.45)],
)
def test_short_sleeps_between_calls_and_eager_ops_are_waiting(tmp_path: Path, ops: str, error: float) -> None:
    """A sample in a sleep also covers the calls and the Python code before it. Few samples of a loop of eager
    ops are in its sleep, so their number varies.
    """
    page, printed = watched_text(tmp_path, SLEEPY.replace("float(step(x)), sum(range(60_000))", ops))
    waited = sum(
        row.seconds for row in page.account if row.kind == "waiting" and row.stack[-1].endswith(":10")
    )
    slept = float(printed.splitlines()[-1])
    assert waited == pytest.approx(slept, rel=error), page.account


PAUSES = """import time
import tensorflow as tf


def load(i):
    time.sleep(0.002)
    return i


data = tf.data.Dataset.range(10**6).map(lambda i: tf.numpy_function(load, [i], tf.int64)).batch(8)
step = tf.function(lambda x: tf.reduce_sum(x))
for n, x in enumerate(data.take(180)):
    step(x)
    time.sleep(0.005)
    if n % 30 == 29:
        time.sleep(0.5)
"""


@pytest.mark.slow
def test_rare_pauses_can_be_saved_although_the_steps_wait_for_input(tmp_path: Path) -> None:
    """An earlier version limited the saving by the wait of typical steps, and stated half of the pauses.

    No step becomes shorter, because typical steps do not pause.
    """
    page, _ = watched_text(tmp_path, PAUSES)
    pauses = next(each for each in page.findings if each.line == 16)
    limit = at_most(pauses)
    assert pauses.code == "between-steps" and most_saved(pauses) > 0.95 * 6 * 0.5, page.findings
    assert "in pauses" in pauses.message and limit is not None and limit.step is None


EAGER = """import time
import numpy as np
import tensorflow as tf

w, data = tf.Variable(tf.ones((32, 32))), np.ones((200, 100))


def step(x):
    with tf.GradientTape() as tape:
        for _ in range(20):
            x = tf.tanh(x @ w)
        loss = tf.reduce_sum(x)
    w.assign_sub(0.01 * tape.gradient(loss, w))


for n in range(400):
    np.sort(np.abs(np.fft.fft(data)))
    step(tf.ones((8, 32)))
    if n % 50 == 20:
        time.sleep(0.2)
"""


@pytest.mark.slow
def test_rare_sleeps_do_not_reduce_what_a_graph_saves(tmp_path: Path) -> None:
    """The sleeps are not in typical steps, whose Python and dispatch a graph saves. NumPy code stays."""
    page, _ = watched_text(tmp_path, EAGER)
    found = next(each for each in page.findings if each.code == "eager-step")
    kinds = by_kind(page.account)
    numpy = kinds["Python and NumPy"] / page.steps.total_s
    overhead = sum(part.share for part in page.parts if part.name in ("python", "dispatch"))
    assert page.steps.asleep < 0.05
    assert found.share == pytest.approx(overhead - numpy, abs=0.1), (page.parts, kinds)


@pytest.mark.slow
def test_python_between_short_calls_is_not_counted_as_the_calls(tmp_path: Path) -> None:
    page, printed = watched_text(tmp_path, CLOCKED)
    for kind, spent in json.loads(printed.splitlines()[-1]).items():
        kinds = (kind, "tracing") if kind == "graphs" else (kind,)
        rows = [row.seconds for row in page.account if row.kind in kinds and row.stack[-1].endswith(":9")]
        assert sum(rows) == pytest.approx(spent, abs=0.1 * page.lasted_s), (kind, page.account)


@pytest.mark.slow
def test_the_line_of_a_loop_over_a_dataset_is_known() -> None:
    seen = list[p.Dataset]()
    program = Path(__file__).parent / "programs" / "python_beside_batches.py"
    watched(program, beside=lambda of: seen.extend(x for one in of.processes.values() for x in one.datasets))
    number = next(n for n, text in enumerate(program.read_text().splitlines(), 1) if "in data:" in text)
    assert [(each.file, each.line) for each in seen] == [(str(program), number)]


def test_dropped_rows_keep_their_seconds_in_the_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tuilab.observer.tuilab_observer.account.MOST_ROWS", 2)
    seen = Account(time.perf_counter())
    for line in range(9):
        scope: dict[str, FrameType] = {}
        exec(compile("\n" * line + "import sys\nframe = sys._getframe()", "/home/me/train.py", "exec"), scope)
        seen.sample(scope["frame"])
    rows = seen.take()
    assert len(rows) <= 5 and sum(seconds for _, seconds in rows) == pytest.approx(seen._last - seen.began)


@pytest.mark.slow
def test_predicting_row_by_row_puts_the_time_on_that_line(tmp_path: Path) -> None:
    program = Path(__file__).parent / "programs" / "predict_row_by_row.py"
    page, _ = watched(program)
    assert sum(row.seconds for row in page.account) == pytest.approx(page.lasted_s, rel=0.05)
    line = next(
        number for number, text in enumerate(program.read_text().splitlines(), 1) if ".predict(" in text
    )
    spent = sum(row.seconds for row in page.account if row.call == "Model.predict")
    assert spent == sum(
        row.seconds
        for row in page.account
        # Compare only the file's name, because a forked test process may not know the program's folder.
        if row.call == "Model.predict" and Path(row.stack[-1]).name == f"predict_row_by_row.py:{line}"
    )
    assert spent > 0.3 * page.lasted_s


def test_calls_are_counted_by_line_with_their_samples() -> None:
    class Data:
        shape = (3, 8)

    def predict() -> None: ...

    calls = Calls()
    for _ in range(4):
        calls.keras(here(), predict, (None, Data()), {})
        calls.keras(here(), predict, (None,), {"x": {"a": [Data()]}})
    line = here.__code__.co_firstlineno + 1
    assert calls.rows == {(__file__, line, "Model.predict"): (8, 24)}


def test_a_keras_function_that_wraps_no_other_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    module, seen, faults = (
        SimpleNamespace(is_traceback_filtering_enabled=lambda: True),
        Calls(),
        list[object](),
    )
    monkeypatch.setattr(state, "here", lambda: SimpleNamespace(calls=seen))
    monkeypatch.setattr(state, "fault", faults.append)
    see_keras(module)

    def fit() -> None: ...

    def asks() -> bool:
        return bool(module.is_traceback_filtering_enabled())

    def wraps(fn: object, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
        return bool(module.is_traceback_filtering_enabled())

    assert asks() and not seen.rows and wraps(fit, (1,), {}) and len(seen.rows) == 1 and not faults


@pytest.mark.parametrize("made", ["tracing", "compiling", ""])
def test_all_time_of_a_call_that_traced_or_compiled_is_of_this_kind(
    monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """Samples alone would count only a trace's Python code as tracing, and the rest as running graphs."""
    call = (PREDICT,), "Function.__call__", "train"
    monkeypatch.setattr(Account, "_row", lambda *_: (("graphs", *call), False))
    seen = Account(time.perf_counter() - 10.0)
    seen._in_calls = 3.0
    assert seen.enter() and seen._entered is not None
    seen._entered -= 4.0
    seen.sample(here())  # 4 of the 7 seconds in calls belong to this call
    rows = Counter(dict(seen.take()))
    seen.leave(made)
    seen.sample(here())
    rows.update(dict(seen.take()))
    assert sum(rows.values()) == pytest.approx(seen._last - seen.began)
    assert rows["graphs", *call] == pytest.approx(3.0 if made else 7.0, abs=0.5)
    assert rows[made, *call] == pytest.approx(4.0 if made else 0.0, abs=0.5)


RETRACED = """
import tensorflow as tf

w = tf.random.normal((64, 64))

@tf.function
def step(x, rate):
    for _ in range(60):
        x = tf.tanh(x @ w) * rate
    return x

for n in range(300):
    step(w, n // 30)
"""


@pytest.mark.slow
def test_account_finding_and_functions_report_the_same_tracing_time(tmp_path: Path) -> None:
    page, _ = watched_text(tmp_path, RETRACED)
    tracing = sum(row.seconds for row in page.account if row.kind == "tracing" and "call" in row.call)
    assert tracing == pytest.approx(sum(row.tracing_s for row in page.functions), rel=0.02)
    (found,) = (each for each in page.findings if each.code == "retraced")
    assert found.saves_s is not None and 0 < found.saves_s < tracing
    assert f"took {seconds(tracing, tracing / 50)}" in found.message
    assert found.program_share == pytest.approx(found.saves_s / page.lasted_s)


def test_a_notebook_is_refused_with_the_command_that_converts_it() -> None:
    with pytest.raises(InputError) as error:
        command_of(["my notes.ipynb"])
    assert "not a notebook" in str(error.value)
    assert "jupyter nbconvert --to script 'my notes.ipynb'" in str(error.value)


def page(of: Process, exit_code: int | None) -> p.Page:
    return page_of(
        [of], command=("train.py",), exit_code=exit_code, host="", at="", lasted_s=20.0, sources={},
        place=Beside(), processors_s=lambda: 0.5,
    )  # fmt: skip


@pytest.mark.parametrize(("code", "how"), [(3, "ended with exit code 3"), (-9, "was killed by signal 9")])
def test_a_program_that_dies_before_a_step_is_reported_once(code: int, how: str) -> None:
    text = page_text(page(process(), code))
    assert text.count(f"the program {how} before its first step") == 1
    assert "no steps detected" not in text


@pytest.mark.parametrize(("code", "says"), [(-1, "was killed by signal 1"), (2, "ended with exit code 2")])
def test_a_program_that_did_not_finish_is_reported(code: int, says: str) -> None:
    of = process()
    of.apply(p.Function(number=0, name="step", file="train.py", line=3))
    of.apply(p.Steps(now=9.0, calls=tuple((0, 2.0 + n / 10, 2.05 + n / 10, False) for n in range(50))))
    assert f"note: the program {says}, so its work may be incomplete" in page_text(page(of, code))
    assert "incomplete" not in page_text(page(of, 0))


def test_the_cost_includes_processor_time_of_observer_and_lab() -> None:
    of = process()
    of.apply(p.Account(watching=1.0, cpu=11.0, wall=19.5))
    assert page(of, 0).cost.processors_s == pytest.approx(1.5)
    assert page(of, 0).cost.processors_share == pytest.approx(0.15)
    assert "1.50 s of processor time (15% of the program's)" in page_text(page(of, 0))
