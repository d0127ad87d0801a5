"""GPUs by their public data sheets, in datasheets.toml.

Every figure has a source; one without is left out, and said not known.

Peaks are dense (no structured sparsity), the larger of with and without tensor cores for what may use them,
at the rated boost clock. GeForce cards run faster than that: theirs are at the highest clock that the driver
allows (`tests/model/test_datasheets.py` compares measurements that were published). A link's rate is one
direction of PCI Express as its specification has it, before any protocol's cost. All in SI base units:
FLOP/s, bytes/s, bytes, seconds.
"""

from pathlib import Path

import msgspec

from tuilab.model.errors import InputError


class Rating(msgspec.Struct, frozen=True, array_like=True):
    """A figure and where it was published."""

    value: float
    cited: str
    """Its source, or the name under which the table has that."""

    @property
    def source(self) -> str:
        """Name if it was published."""
        return _TABLE.sources.get(self.cited, self.cited)


class DataSheet(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. A peak, size or cost that is missing is not known, and counts as no limit."""

    name: str
    """As people say it: `H100`."""
    family: str
    """`Hopper`."""
    vector: dict[str, Rating]
    """FLOP/s by dtype without tensor cores."""
    tensor: dict[str, Rating]
    """FLOP/s by dtype with tensor cores, dense."""
    bandwidth: Rating
    """Bytes/s of the GPU's memory."""
    memory: Rating
    """Bytes of it."""
    link: Rating
    """Bytes/s to or from the host, one direction."""
    cache: Rating | None = None
    """Bytes of the last-level cache; what stays in it between calls need not come from memory."""

    def peak(self, dtype: str) -> Rating | None:
        """Return the FLOP/s at which `dtype` can be computed at most; if it is not known, that of a wider
        unit.

        float32 is taken at full precision; `tf32` as tensor cores multiply it. No dtype is faster than
        the one that it is counted against: float64 than float32, int32 than float32.
        """
        real = {"complex64": "float32", "complex128": "float64", "int32": "float32"}.get(dtype, dtype)
        found = [peaks[real] for peaks in (self.vector, self.tensor) if real in peaks]
        if found:
            return max(found, key=lambda figure: figure.value)
        wider = {"float64": "float32", "tf32": "float32", "bfloat16": "float16"}.get(real)
        return self.peak(wider) if wider else None

    @property
    def launch(self) -> Rating:
        """Seconds of a kernel launch, the least measured in public on a GPU of this family; else of any."""
        return LEAST_LAUNCH.get(self.family) or min(LEAST_LAUNCH.values(), key=lambda figure: figure.value)


class _Rated(DataSheet, frozen=True, kw_only=True):
    """As the table has it, its peaks at the rated boost clock."""

    boost: tuple[int, int, str] | None = None
    """Of a GeForce card: that clock, the highest one (MHz), and who says so."""

    def boosted(self, figures: dict[str, Rating]) -> dict[str, Rating]:
        """Peaks at the highest clock."""
        if self.boost is None:
            return figures
        rated, highest, seen = self.boost
        told = f"; there at {rated:,} MHz, here at {highest:,} MHz ({seen})"
        return {
            dtype: Rating(figure.value * highest / rated, figure.source + told)
            for dtype, figure in figures.items()
        }


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """How much longer than its bound each term takes, the least and the most that published timings show."""

    kernels: tuple[float, float]
    """Factors on arithmetic and memory, from the published timings of whole workloads."""
    launch_s: tuple[float, float]
    """Seconds of a launch."""
    link: tuple[float, float]
    """Factors on copies over the link."""


class _Table(msgspec.Struct, frozen=True):
    expected: Expected
    sources: dict[str, str]
    launch: dict[str, Rating]
    gpus: dict[str, _Rated]


_TABLE = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Table)
LEAST_LAUNCH = _TABLE.launch
"""By family."""
EXPECTED = _TABLE.expected
SHEETS: dict[str, DataSheet] = {
    name: msgspec.structs.replace(gpu, vector=gpu.boosted(gpu.vector), tensor=gpu.boosted(gpu.tensor))
    for name, gpu in _TABLE.gpus.items()
}

FASTER_KIN = {"ti", "super", "nvl", "ultra"}
"""Words behind a name that mean another GPU, one that may be faster."""

USUAL = "h100"
"""The GPU that a run without one is held against by default."""


def sheet(name: str) -> DataSheet:
    """Return the data sheet of that name, however it is written. Raises InputError naming those there are."""
    found = SHEETS.get(_plain(name))
    if found is None:
        raise InputError("--against", name, "one of " + ", ".join(SHEETS))
    return found


def name_of(found: DataSheet) -> str:
    """Return the table's name of a data sheet, `rtx4090`."""
    return next((name for name, each in SHEETS.items() if each is found), _plain(found.name))


def recognised(description: str) -> str:
    """Return the table's name of a GPU by what its driver calls it (`NVIDIA H100 80GB HBM3`); "" for
    another."""
    words = _plain(description)
    every = sorted(SHEETS, key=len, reverse=True)
    # A10 and A100, L4 and L40S: the longer name first, and no digit or letter of another one behind it.
    return next((name for name in every if _whole(name, description) or words == name), "")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _whole(name: str, description: str) -> bool:
    words = description.lower().replace("-", " ").split()
    if FASTER_KIN & set(words):
        return False
    return name in words or name in ["".join(pair) for pair in zip(words, words[1:], strict=False)]
