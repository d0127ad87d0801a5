"""The screens of the pictures, with the keys that lead to each of them."""

import itertools
from collections.abc import Callable

from tuilab.model.telemetry import CpuSample, DeviceSample, GpuSample, ProcessSample

SIZES = ((80, 24), (120, 40))

# Each row: name of the picture, keys pressed since the previous picture. At first, the first preset is open
# and nothing is measured.
TOUR: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("first", ()),
    ("live", ("r",)),
    ("compare", ("c",)),
    ("sweep", ("s",)),
    ("live-sweep", ("1",)),
    ("phases", ("r", "4")),
    ("timeline", ("5",)),
    ("placement", ("6",)),
    ("device", ("7",)),
    ("verdict", ("d",)),
    ("log", ("9",)),
    ("arms", ("1", "a")),
    ("export", ("escape", "e")),
    ("jump", ("escape", "f")),
    ("help", ("escape", "question_mark")),
    ("slider", ("escape", "i", "right", "l", "right")),
    ("demo", ("D", "space")),
    ("demo-told", ("2",)),
)

DEVICE = DeviceSample(
    at=100.0, interval_s=1.0,
    cpu=CpuSample(use=0.42, per_core=(0.9, 0.31, 0.12, 0.35), frequency_hz=3.1e9, frequency_max_hz=3.7e9,
                  memory_used=61 * 2**30, memory_total=768 * 2**30, load=1.7),
    gpus=(GpuSample(index=0, name="NVIDIA H200", use=0.37, memory_use=0.12, memory_used=3 * 2**30,
                    memory_total=139 * 2**30, sm_clock_hz=1.98e9, memory_clock_hz=3.2e9, power_w=241.0,
                    power_limit_w=700.0, temperature_c=44.0),),
    process=ProcessSample(pid=4242, use=1.2, memory=900 * 2**20, threads=31),
)  # fmt: skip


def still_device(put: Callable[[object, str, object], None]) -> None:
    """Fix the device sample and let races end at once, so that pictures are the same on every machine."""
    from tuilab.lab import devices
    from tuilab.telemetry.sampler import Telemetry
    from tuilab.tui.widgets import race

    put(Telemetry, "sample", lambda self, pid: DEVICE)
    put(devices, "EVERY_S", 3_600.0)
    later = itertools.count(step=1_000)
    put(race, "monotonic", lambda: float(next(later)))
