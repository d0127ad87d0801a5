"""Sums up the load of each device while the program ran, from samples of the machine. Pure functions."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tuilab.model.program import PROGRAM, Load
from tuilab.model.telemetry import DeviceSample

CPU = "CPU"


@dataclass
class Sums:
    """Totals for one device: number of samples, sum of each figure, and peak memory."""

    n: int = 0
    uses: list[float] = field(default_factory=lambda: [0.0, 0.0])
    clocks: list[float] = field(default_factory=lambda: [0.0, 0.0])
    memory: int | None = None
    total: int | None = None
    fastest: float | None = None

    def add(self, use: float | None, memory: int | None, clock: float | None) -> None:
        self.n += 1
        for told, into in ((use, self.uses), (clock, self.clocks)):
            if told is not None:
                into[0] += told
                into[1] += 1
        if memory is not None:
            self.memory = max(memory, self.memory or 0)


@dataclass
class Loads:
    of: dict[str, Sums] = field(default_factory=lambda: defaultdict(Sums))

    def add(self, sample: DeviceSample) -> None:
        if sample.interval_s is None:
            return
        if (program := sample.process) is not None:
            self.of[PROGRAM].add(program.use, program.memory, None)
        if (cpu := sample.cpu) is not None:
            self.of[CPU].add(cpu.use, cpu.memory_used, cpu.frequency_hz)
            self.of[CPU].total, self.of[CPU].fastest = cpu.memory_total, cpu.frequency_max_hz
        for gpu in sample.gpus:
            of = self.of[f"GPU:{gpu.index}"]
            of.add(gpu.use, gpu.memory_used, gpu.sm_clock_hz)
            of.total = gpu.memory_total

    def rows(self) -> tuple[Load, ...]:
        """Return one row per device. The program's own row comes first."""
        return tuple(self._rows())

    def _rows(self) -> Iterator[Load]:
        for device, sums in self.of.items():
            yield Load(
                device=device,
                use=_mean(sums.uses),
                memory=sums.memory,
                memory_total=sums.total,
                clock_hz=_mean(sums.clocks),
                clock_max_hz=sums.fastest,
                n=sums.n,
            )


def _mean(sums: list[float]) -> float | None:
    total, n = sums
    return total / n if n else None
