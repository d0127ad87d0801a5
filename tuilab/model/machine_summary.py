"""What one machine stands at in one run: small enough to compare a thousand machines at once."""

import msgspec

from tuilab.model.claims import VerdictWord
from tuilab.model.result import CrossoverStatus


class Best(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The fastest arm of a kind of device: its label without the host, and its median in seconds per call."""

    label: str
    median_s: float
    low_s: float | None = None
    high_s: float | None = None


class Crossed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The sweep's foremost crossover on that machine: `a` overtakes `b` at a size of the axis."""

    axis: str
    a: str
    b: str
    status: CrossoverStatus
    at: float | None = None
    low: float | None = None
    high: float | None = None


class MachineSummary(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One machine's part in a run."""

    run: str
    at: str
    preset: str
    machine: str
    """The host's own name."""
    origin: str
    """Its ssh name or its name in a fleet, "" for where the lab ran."""
    cpu: str
    gpus: tuple[str, ...]
    tensorflow: str
    python: str
    driver: str
    budget: str
    parameters: str
    """A JSON object of every parameter's value where the arms were summed up, its keys sorted."""
    on_cpu: Best | None = None
    on_gpu: Best | None = None
    crossed: Crossed | None = None
    claims: str = ""
    """A digest of the claims' texts."""
    verdicts: tuple[VerdictWord, ...] = ()
    """Of each claim in order."""

    @property
    def best(self) -> Best | None:
        """The faster of the two."""
        both = [best for best in (self.on_cpu, self.on_gpu) if best is not None]
        return min(both, key=lambda best: best.median_s, default=None)

    @property
    def kind(self) -> str:
        """`CPU` or `GPU`: the kind of the fastest arm; "" where nothing was measured."""
        best = self.best
        return "" if best is None else "GPU" if best is self.on_gpu else "CPU"
