"""A watched program without a process, with synthetic events."""

import itertools
from collections.abc import Callable

from textual.pilot import Pilot

from tests.tui.lab import TestLab, until
from tests.tui.quick import handled
from tuilab.lab import watch
from tuilab.lab.watch import Watching, WatchOptions
from tuilab.model.program import Dataset, Facts, Function, Hello, Stage, Steps, Told, Traces, Window
from tuilab.model.telemetry import CpuSample, DeviceSample, ProcessSample
from tuilab.profile.classify import Key
from tuilab.program.window import Seen
from tuilab.tui.screens.watching import WatchScreen

FILE = "/home/ada/train.py"
BEGAN, CLOCK = 1_000.0, 1_084.0


class Typed:
    def __init__(self, output: bytes = b"") -> None:
        self.output = bytearray(output)
        self.typed, self.sizes = b"", list[tuple[int, int]]()

    def type(self, data: bytes) -> None:
        self.typed += data

    def resize(self, columns: int, rows: int) -> None:
        self.sizes.append((columns, rows))


class Still:
    def time(self) -> float:
        return CLOCK

    def monotonic(self) -> float:
        return CLOCK


def watching(set_: Callable[..., None], output: bytes = b"") -> Watching:
    set_(watch, "time", Still())
    set_(watch.platform, "node", lambda: "laptop")
    set_(watch, "place_of", lambda *_: watch.Beside())
    made = Watching(["python", FILE, "--epochs", "3"], WatchOptions())
    made.program.began = BEGAN
    made.hosted = Typed(output)  # type: ignore[assignment]
    made.draw()
    return made


def hello() -> Hello:
    return Hello(pid=7, parent=1, script=FILE, python="3.11.7", tensorflow="2.21.0", began=0.0, now=1.0)


def events() -> list[Told]:
    """Return the events of a Keras `fit` that waits for a Python function in its input pipeline. Another
    function is retraced.
    """
    at = list(itertools.accumulate([0.095 + 0.004 * (number % 5) for number in range(60)], initial=2.0))
    mapped = Stage(stage="Map", file=FILE, line=12, own=True, function="decode", ops=("PyFunc", "Identity"))
    batch = Stage(stage="Batch", file=FILE, line=13, own=True, size=64)
    return [
        hello(),
        Function(number=0, name="multi_step_on_iterator", file="keras/trainer.py", caller=(FILE, 30)),
        Function(number=1, name="train.augment", file=FILE, line=20, own=True),
        Facts(opened=True, physical=(("/physical_device:CPU:0", "CPU", "", None),)),
        Dataset(stages=(batch, mapped), shapes=((None, 32, 32, 3), (None,))),
        Traces(number=0, traces=((0.8, None),)),
        Traces(number=1, traces=tuple((0.15, [["number", str(n), "int"]]) for n in range(5))),
        Steps(
            now=at[-1],
            calls=(
                (0, at[0], at[0] + 0.9, True),
                *((0, start + 0.9, start + 0.98, False) for start in at[1:]),
                *((1, start + 0.985, start + 0.99, n < 5) for n, start in enumerate(at[1:9])),
            ),
        ),
    ]


def seen() -> Seen:
    """Return the contents of a profiler window that covers steps of the program."""
    step = {"waiting for input": 0.083, "compute on CPU": 0.012, "python": 0.003, "dispatch": 0.002}
    ops = {
        Key("Conv2D", "sequential/conv/Conv2D", "CPU"): 0.006,
        Key("MatMul", "sequential/dense/MatMul", "CPU"): 0.004,
    }
    stages = {"Root::Prefetch::Batch": 0.001, "Root::Prefetch::Batch::Map": 0.08}
    return Seen(steps=[step] * 12, ops=ops, stages=stages, devices={"CPU": 0.12})


def sample(at: int) -> DeviceSample:
    cpu = CpuSample(use=0.91, frequency_hz=2.9e9, memory_used=4_120_000_000, memory_total=24_000_000_000)
    process = ProcessSample(pid=7, use=1.6, memory=850_000_000 + at)
    return DeviceSample(at=at, interval_s=1.0 if at else None, cpu=cpu, process=process)


def hear(made: Watching) -> None:
    for told in events():
        made.take(1, told, None)
    made.draw()


def play(made: Watching) -> None:
    hear(made)
    look(made)


def look(made: Watching) -> None:
    window = Window(start=3.0, end=3.4, cost=0.05, steps=12, step=0)
    made.take(1, window, None)
    made.program.processes[1].looked(window, seen())
    for at in range(3):
        made.program.loads.add(sample(at))
    made.draw()


def end(made: Watching, code: int) -> None:
    made.program.exit_code, made.program.ended = code, CLOCK
    made.draw()


async def settled(pilot: Pilot[int], app: TestLab) -> None:
    screen = app.screen_stack[0]
    assert isinstance(screen, WatchScreen)
    await until(pilot, lambda: not screen._drawing)
    for _ in range(3):
        await handled(app)
