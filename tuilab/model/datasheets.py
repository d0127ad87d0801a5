"""Public GPU data sheets, from datasheets.toml.

Every figure has a source; figures without one are omitted and reported as unknown. Peaks are dense (no
structured sparsity), at the rated boost clock, with or without tensor cores, whichever is faster. GeForce
cards run above their rated clock, so their peaks are for the highest clock that the driver allows
(`tests/model/test_datasheets.py` compares the peaks with published measurements). A link rate is the
specified rate of PCI Express in one direction, without protocol overhead. SI base units: FLOP/s, bytes/s,
bytes, seconds.
"""

from pathlib import Path

import msgspec

from tuilab.model.errors import InputError


class Rating(msgspec.Struct, frozen=True, array_like=True):
    value: float
    cited: str
    """The source of the figure, or that source's key in the table of sources."""

    @property
    def source(self) -> str:
        return _TABLE.sources.get(self.cited, self.cited)


class DataSheet(msgspec.Struct, frozen=True, kw_only=True):
    """The data sheet of one GPU. Unknown figures are missing, and never limit a bound."""

    name: str
    family: str
    vector: dict[str, Rating]
    """FLOP/s by dtype without tensor cores."""
    tensor: dict[str, Rating]
    """FLOP/s by dtype with tensor cores, dense."""
    bandwidth: Rating
    """Bytes/s of the GPU memory."""
    memory: Rating
    """Bytes of GPU memory."""
    link: Rating
    """Bytes/s over the link to the host, in one direction."""
    cache: Rating | None = None
    """Bytes of the last-level cache, where data may stay between calls."""

    def peak(self, dtype: str) -> Rating | None:
        """Return the peak FLOP/s for `dtype`, or for a similar dtype if the data sheet lacks `dtype`.

        float32 means full precision; `tf32` means float32 products on the tensor cores. The float32 peak may
        replace that of float64 or int32, because these dtypes are never faster.
        """
        real = {"complex64": "float32", "complex128": "float64", "int32": "float32"}.get(dtype, dtype)
        found = [peaks[real] for peaks in (self.vector, self.tensor) if real in peaks]
        if found:
            return max(found, key=lambda figure: figure.value)
        wider = {"float64": "float32", "tf32": "float32", "bfloat16": "float16"}.get(real)
        return self.peak(wider) if wider else None

    @property
    def launch(self) -> Rating:
        """The shortest published kernel launch of the GPU's family, in seconds; the shortest of any GPU if
        none is published for the family.
        """
        return LEAST_LAUNCH.get(self.family) or min(LEAST_LAUNCH.values(), key=lambda figure: figure.value)


class _Rated(DataSheet, frozen=True, kw_only=True):
    boost: tuple[int, int, str] | None = None
    """For a GeForce card: the rated clock and the highest clock, both in MHz, and the source."""

    def boosted(self, figures: dict[str, Rating]) -> dict[str, Rating]:
        if self.boost is None:
            return figures
        rated, highest, seen = self.boost
        text = f"; the data sheet assumes {rated:,} MHz, this GPU runs at up to {highest:,} MHz ({seen})"
        return {
            dtype: Rating(figure.value * highest / rated, figure.source + text)
            for dtype, figure in figures.items()
        }


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest and largest expected value of each term of a bound, from published timings and from
    measurements on one H100.
    """

    kernels: tuple[float, float]
    """Smallest and largest time of the kernels, as a multiple of their minimum time if they run one after
    another. From published timings of whole workloads.
    """
    start: tuple[float, float]
    """Time to start a call, as a multiple of the dispatch time of an empty call, which is measured on the
    host.
    """
    dispatch: tuple[float, float]
    """Time to start a call on the GPU, as a multiple of the Python and dispatch time of the same call on the
    CPU.
    """
    launch_s: tuple[float, float]
    iteration_s: tuple[float, float]
    """Seconds that one iteration of a loop waits for the host."""
    link: tuple[float, float]
    """Time of copies over the link, as a multiple of the time at the link's specified rate."""
    pageable: float
    """Bytes/s of the slowest copies, to or from pageable host memory."""
    copy_s: tuple[float, float]
    measured: str
    """The source of the unpublished figures, or that source's key in the table of sources."""


class _Table(msgspec.Struct, frozen=True):
    expected: Expected
    sources: dict[str, str]
    launch: dict[str, Rating]
    gpus: dict[str, _Rated]


_TABLE = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Table)
LEAST_LAUNCH = _TABLE.launch
"""Shortest published kernel launch in seconds, by GPU family."""
EXPECTED = _TABLE.expected
SHEETS: dict[str, DataSheet] = {
    name: msgspec.structs.replace(gpu, vector=gpu.boosted(gpu.vector), tensor=gpu.boosted(gpu.tensor))
    for name, gpu in _TABLE.gpus.items()
}

FASTER_KIN = {"ti", "super", "nvl", "ultra"}
"""Suffixes that mark a different, possibly faster GPU with the same model number."""

USUAL = "h100"


def sheet(name: str) -> DataSheet:
    """Return the data sheet for a name, ignoring case, spaces and punctuation.

    Raises InputError, which lists the known names, if the name is unknown.
    """
    found = SHEETS.get(_plain(name))
    if found is None:
        raise InputError("--against", name, "one of " + ", ".join(SHEETS))
    return found


def name_of(found: DataSheet) -> str:
    """Return the data sheet's key in the table, such as `rtx4090`."""
    return next((name for name, each in SHEETS.items() if each is found), _plain(found.name))


def recognised(description: str) -> str:
    """Return the data sheet's key for a GPU name as the driver reports it (`NVIDIA H100 80GB HBM3`); "" if
    unknown.
    """
    words = _plain(description)
    every = sorted(SHEETS, key=len, reverse=True)
    # Try longer names first, and match whole words only, because A10 is a prefix of A100, and L4 of L40S.
    return next((name for name in every if _whole(name, description) or words == name), "")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _whole(name: str, description: str) -> bool:
    words = description.lower().replace("-", " ").split()
    if FASTER_KIN & set(words):
        return False
    return name in words or name in ["".join(pair) for pair in zip(words, words[1:], strict=False)]
