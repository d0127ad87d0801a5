"""A summary of one run on one machine, small enough to compare a thousand machines."""

import msgspec

from tuilab.model.claims import VerdictWord
from tuilab.model.result import CrossoverStatus


class Best(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The fastest arm on one kind of device: its label without the host, and its seconds per call."""

    label: str
    median_s: float
    low_s: float | None = None
    high_s: float | None = None


class Crossed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The main crossover of a sweep on one machine: the size along `axis` at which `a` overtakes `b`."""

    axis: str
    a: str
    b: str
    status: CrossoverStatus
    at: float | None = None
    low: float | None = None
    high: float | None = None


class MachineSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    run: str
    at: str
    preset: str
    machine: str
    origin: str
    """The machine's ssh or fleet name; "" for the lab's machine."""
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    driver: str
    budget: str
    parameters: str
    """All parameters as a JSON object with sorted keys."""
    on_cpu: Best | None = None
    on_gpu: Best | None = None
    crossed: Crossed | None = None
    claims: str = ""
    """A digest of the claims' wording, to detect changed claims."""
    verdicts: tuple[VerdictWord, ...] = ()
    disturbed: str = ""
    """Why the figures may be wrong, such as `busy host`; "" if nothing disturbed the run."""

    @property
    def best(self) -> Best | None:
        both = [best for best in (self.on_cpu, self.on_gpu) if best is not None]
        return min(both, key=lambda best: best.median_s, default=None)

    @property
    def kind(self) -> str:
        """`CPU` or `GPU`, whichever was faster; "" if nothing was measured."""
        best = self.best
        return "" if best is None else "GPU" if best is self.on_gpu else "CPU"
