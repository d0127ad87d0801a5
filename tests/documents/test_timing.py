import pytest

from tuilab.documents.api.tables import shipped
from tuilab.documents.examine import traced
from tuilab.documents.example import examples
from tuilab.documents.judge import decide
from tuilab.documents.reading.source import open_document
from tuilab.documents.timing import Timing

HEAD = "import time\nimport tensorflow as tf\nx = tf.ones((64, 64))\n"


def timings(code: str) -> tuple[Timing, ...]:
    document = open_document((HEAD + code).encode(), "own.py")
    found = examples(document.blocks, traced(document, shipped(), None)[0], shipped())
    decide(found)
    return found[0].timings


def test_cold_call_that_nothing_waits_for() -> None:
    (timing,) = timings(
        "t = time.time()\nfor _ in range(20):\n    y = x @ x\nprint('gpu took', time.time() - t)\n"
    )
    assert (timing.role, timing.extent, timing.repetitions) == ("benchmark", "calls", 20)
    assert timing.work is not None and timing.work.name == "tf.matmul"
    assert timing.cold is not None and (timing.cold.count, timing.cold.sure) == (20, True)
    assert [event.name for event in timing.unfinished] == ["tf.matmul"]
    assert "gpu took" in timing.label and not timing.unresolved


def test_warm_call_that_is_awaited() -> None:
    (timing,) = timings("x @ x\nt = time.time()\n(x @ x).numpy()\nprint(time.time() - t)\n")
    assert timing.cold is None and timing.unfinished == ()


@pytest.mark.parametrize(
    ("code", "role", "extent"),
    [
        ("m.fit(x, x)\nprint('training took', time.time() - t)", "log", "calls"),
        ("u = time.time()\nx @ x\nprint(time.time() - u)\nprint(time.time() - t)", "benchmark", "total"),
        ("for _ in range(9):\n    x @ x\n    print(time.time() - t)", "benchmark", "lap"),
    ],
)
def test_role_and_extent(code: str, role: str, extent: str) -> None:
    found = timings(f"m = tf.keras.Sequential([tf.keras.layers.Dense(4)])\nt = time.time()\n{code}\n")
    assert (role, extent) in [(timing.role, timing.extent) for timing in found]


def test_compared_trainings_know_each_other_and_their_devices() -> None:
    code = "with tf.device('/{0}:0'):\n    t = time.time()\n    m.fit(x, x)\n    {0}_time = time.time() - t\n"
    model = "m = tf.keras.Sequential([tf.keras.layers.Dense(4)])\n"
    found = timings(model + code.format("CPU") + code.format("GPU") + "print(CPU_time / GPU_time)\n")
    assert [(timing.device, timing.role) for timing in found] == [("CPU", "benchmark"), ("GPU", "benchmark")]
    assert found[0].counterpart is found[1].region and found[1].counterpart is found[0].region


def test_discarded_time_is_no_figure() -> None:
    assert timings("t = time.time()\nwhile time.time() - t < 5:\n    x @ x\n") == ()
