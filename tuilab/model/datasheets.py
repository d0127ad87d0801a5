"""GPUs by their public data sheets. Every figure has a source; one without is left out, and said not known.

Peaks are dense (no structured sparsity), the larger of with and without tensor cores for what may use them,
at the rated boost clock. GeForce cards run faster than that: theirs are at the highest clock that the driver
allows (`tests/model/test_datasheets.py` compares measurements that were published). A link's rate is one
direction of PCI Express as its specification has it, before any protocol's cost. All in SI base units:
FLOP/s, bytes/s, bytes, seconds.
"""

from itertools import pairwise

import msgspec

from tuilab.model.errors import InputError

T, G = 1e12, 1e9
MB = 2**20

PCI_SIG = "PCI-SIG, PCI Express Base Specification: 8, 16, 32 GT/s a lane at 128b/130b, 16 lanes"
PCIE3, PCIE4, PCIE5 = (rate * G * 16 * 128 / 130 / 8 for rate in (8, 16, 32))
PCIE6 = 128 * G

TURING = "NVIDIA Turing GPU Architecture whitepaper (WP-09183-001), TU104 and appendix Tesla T4"
T4 = "NVIDIA T4 data sheet; memory 320 GB/s as in the T4 product brief"
L4 = "NVIDIA L4 data sheet (sparse figures halved)"
ADA = "NVIDIA Ada GPU Architecture whitepaper, appendix A"
A10 = "NVIDIA A10 data sheet"
A100 = "NVIDIA A100 data sheet, SXM4 80 GB"
A100_PAPER = "NVIDIA A100 Tensor Core GPU Architecture whitepaper"
L40S = "NVIDIA L40S data sheet"
H100 = "NVIDIA H100 data sheet, SXM5 80 GB (sparse figures halved)"
HOPPER = "NVIDIA H100 Tensor Core GPU Architecture whitepaper"
H200 = "NVIDIA H200 data sheet, SXM5 (sparse figures halved)"
B200 = "NVIDIA Blackwell Architecture Technical Brief, HGX B200 at 1,000 W (sparse figures halved)"
GA102 = "NVIDIA Ampere GA102 GPU Architecture whitepaper, appendix A"
BLACKWELL = "NVIDIA RTX Blackwell GPU Architecture whitepaper, appendix A"


class Figure(msgspec.Struct, frozen=True):
    """A figure and where it was published."""

    value: float
    source: str


class DataSheet(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. A peak, size or cost that is missing is not known, and counts as no limit."""

    name: str
    """As people say it: `H100`."""
    family: str
    """`Hopper`."""
    vector: dict[str, Figure]
    """FLOP/s by dtype without tensor cores."""
    tensor: dict[str, Figure]
    """FLOP/s by dtype with tensor cores, dense."""
    bandwidth: Figure
    """Bytes/s of the GPU's memory."""
    memory: Figure
    """Bytes of it."""
    link: Figure
    """Bytes/s to or from the host, one direction."""
    cache: Figure | None = None
    """Bytes of the last-level cache; what stays in it between calls need not come from memory."""

    def peak(self, dtype: str) -> Figure | None:
        """FLOP/s at which `dtype` can be computed at most; where it is not known, that of a wider unit.

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
    def launch(self) -> Figure | None:
        """Seconds of a kernel launch, the least measured in public on a GPU of this family."""
        return LEAST_LAUNCH.get(self.family)


LEAST_LAUNCH = {
    "Ampere": Figure(
        1.84e-6,
        "NVBench table of a histogram kernel of four threads on an RTX 3060 Laptop, batched: 1.844 µs "
        "(github.com/R100001/Programming-Massively-Parallel-Processors); an empty kernel on an A100 takes "
        "2.7 µs (ReFrame, CSCS checks, gpu_kernel_latency)",
    ),
    "Blackwell": Figure(
        0.58e-6,
        "a kernel that does nothing, replayed in a CUDA graph on an RTX 5070 Ti Laptop: 0.58 µs a node "
        "(github.com/ahrefs/ocannl, issue 488); launched by itself 2.6 µs",
    ),
}
"""By family. Of Turing, Ada and Hopper no published figure is at hand, so a launch counts as nothing."""


def _tf(source: str, **peaks: float) -> dict[str, Figure]:
    return {dtype: Figure(value * T, source) for dtype, value in peaks.items()}


def _boosted(rated: int, highest: int, seen: str, figures: dict[str, Figure]) -> dict[str, Figure]:
    """Peaks of a GeForce card at its highest clock (MHz), from those at the rated boost clock."""
    source = f"; there at {rated:,} MHz, here at {highest:,} MHz ({seen})"
    return {
        dtype: Figure(figure.value * highest / rated, figure.source + source)
        for dtype, figure in figures.items()
    }


CLOCK_3090 = 1_695, 2_100, "nvidia-smi's highest; 1,980 MHz seen in noonghunna/club-3090, issue 107"
CLOCK_4090 = (
    2_520,
    3_165,
    "nvidia-smi's highest, horizon-research/SnapPix; 2,655 MHz seen in NVBench, pull request 207",
)
CLOCK_5090 = 2_407, 3_090, "nvidia-smi's highest, and 2,932 MHz seen: kekzl/imp, issue 1671"


SHEETS: dict[str, DataSheet] = {
    "t4": DataSheet(
        name="T4",
        family="Turing",
        vector=_tf(T4, float32=8.1) | _tf(TURING, float64=0.2544),
        tensor=_tf(T4, float16=65),
        bandwidth=Figure(320 * G, T4),
        memory=Figure(16 * G, T4),
        link=Figure(PCIE3, PCI_SIG),
        cache=Figure(4 * MB, TURING),
    ),
    "l4": DataSheet(
        name="L4",
        family="Ada",
        vector=_tf(L4, float32=30.3),
        tensor=_tf(L4, tf32=60, float16=121, bfloat16=121),
        bandwidth=Figure(300 * G, L4),
        memory=Figure(24 * G, L4),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(48 * MB, ADA),
    ),
    "a10": DataSheet(
        name="A10",
        family="Ampere",
        vector=_tf(A10, float32=31.2),
        tensor=_tf(A10, tf32=62.5, float16=125, bfloat16=125),
        bandwidth=Figure(600 * G, A10),
        memory=Figure(24 * G, A10),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(6 * MB, GA102),
    ),
    "a100": DataSheet(
        name="A100",
        family="Ampere",
        vector=_tf(A100, float64=9.7, float32=19.5) | _tf(A100_PAPER, float16=78, bfloat16=39),
        tensor=_tf(A100, float64=19.5, tf32=156, float16=312, bfloat16=312),
        bandwidth=Figure(2_039 * G, A100),
        memory=Figure(80 * G, A100),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(40 * MB, A100_PAPER),
    ),
    "l40s": DataSheet(
        name="L40S",
        family="Ada",
        vector=_tf(L40S, float32=91.6),
        tensor=_tf(L40S, tf32=183, float16=362.05, bfloat16=362.05),
        bandwidth=Figure(864 * G, L40S),
        memory=Figure(48 * G, L40S),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(96 * MB, ADA),
    ),
    "h100": DataSheet(
        name="H100",
        family="Hopper",
        vector=_tf(H100, float64=34, float32=67) | _tf(HOPPER, float16=133.8, bfloat16=133.8),
        tensor=_tf(H100, float64=67, tf32=494.7, float16=989.4, bfloat16=989.4),
        bandwidth=Figure(3_350 * G, H100),
        memory=Figure(80 * G, H100),
        link=Figure(PCIE5, PCI_SIG),
        cache=Figure(50 * MB, HOPPER),
    ),
    "h200": DataSheet(
        name="H200",
        family="Hopper",
        vector=_tf(H200, float64=34, float32=67) | _tf(HOPPER, float16=133.8, bfloat16=133.8),
        tensor=_tf(H200, float64=67, tf32=494.7, float16=989.4, bfloat16=989.4),
        bandwidth=Figure(4_800 * G, H200),
        memory=Figure(141 * G, H200),
        link=Figure(PCIE5, PCI_SIG),
        cache=Figure(60 * MB, HOPPER + ", that of the full GH100"),
    ),
    "b200": DataSheet(
        name="B200",
        family="Blackwell",
        vector=_tf(B200, float64=40, float32=80),
        tensor=_tf(B200, float64=40, tf32=1_100, float16=2_250, bfloat16=2_250),
        bandwidth=Figure(8_000 * G, B200),
        memory=Figure(192 * G, B200),
        link=Figure(PCIE6, B200 + ": PCI Express 6, 256 GB/s both ways together"),
    ),
    "rtx3090": DataSheet(
        name="RTX 3090",
        family="Ampere",
        vector=_boosted(*CLOCK_3090, _tf(GA102, float64=0.556, float32=35.6, float16=35.6, bfloat16=35.6)),
        tensor=_boosted(*CLOCK_3090, _tf(GA102, tf32=35.6, float16=142, bfloat16=71)),
        bandwidth=Figure(936 * G, GA102),
        memory=Figure(24 * G, GA102),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(6 * MB, GA102),
    ),
    "rtx4090": DataSheet(
        name="RTX 4090",
        family="Ada",
        vector=_boosted(*CLOCK_4090, _tf(ADA, float64=1.29, float32=82.6, float16=82.6, bfloat16=82.6)),
        tensor=_boosted(*CLOCK_4090, _tf(ADA, tf32=82.6, float16=330.3, bfloat16=165.2)),
        bandwidth=Figure(1_008 * G, ADA),
        memory=Figure(24 * G, ADA),
        link=Figure(PCIE4, PCI_SIG),
        cache=Figure(72 * MB, ADA),
    ),
    "rtx5090": DataSheet(
        name="RTX 5090",
        family="Blackwell",
        vector=_boosted(
            *CLOCK_5090, _tf(BLACKWELL, float64=1.64, float32=104.8, float16=104.8, bfloat16=104.8)
        ),
        tensor=_boosted(*CLOCK_5090, _tf(BLACKWELL, tf32=104.8, float16=419, bfloat16=209.5)),
        bandwidth=Figure(1_792 * G, BLACKWELL),
        memory=Figure(32 * G, BLACKWELL),
        link=Figure(PCIE5, PCI_SIG),
        cache=Figure(96 * MB, BLACKWELL),
    ),
}

FASTER_KIN = {"ti", "super", "nvl", "ultra"}
"""Words behind a name that mean another GPU, one that may be faster."""

USUAL = "h100"
"""The GPU that a run without one is held against unless told otherwise."""


def sheet(name: str) -> DataSheet:
    """The data sheet of that name, however it is written. Raises InputError naming those there are."""
    found = SHEETS.get(_plain(name))
    if found is None:
        raise InputError("--against", name, "one of " + ", ".join(SHEETS))
    return found


def name_of(found: DataSheet) -> str:
    """The table's name of a data sheet, `rtx4090`."""
    return next((name for name, each in SHEETS.items() if each is found), _plain(found.name))


def recognised(description: str) -> str:
    """The table's name of a GPU by what its driver calls it (`NVIDIA H100 80GB HBM3`); "" for another."""
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
    return name in words or name in ["".join(pair) for pair in pairwise(words)]
