"""The table of GPUs: every figure has a source, and any spelling of a GPU's name finds its row."""

import pytest

from tuilab.model.datasheets import LEAST_LAUNCH, SHEETS, recognised, sheet
from tuilab.model.errors import InputError


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_every_figure_has_a_source(name: str) -> None:
    found = SHEETS[name]
    figures = [*found.vector.values(), *found.tensor.values(), found.bandwidth, found.memory, found.link]
    figures += [figure for figure in (found.cache, found.launch) if figure is not None]
    assert all(figure.source and figure.value > 0 for figure in figures)
    assert found.vector["float32"].value < 1e15 and found.bandwidth.value < 1e14


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_a_narrower_dtype_is_not_slower(name: str) -> None:
    peaks = [SHEETS[name].peak(dtype) for dtype in ("float64", "float32", "tf32", "bfloat16", "float16")]
    values = [peak.value for peak in peaks if peak is not None]
    assert len(values) == 5 and values == sorted(values)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A10", "a10"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA GeForce RTX 3090 Ti", ""),
        ("NVIDIA H100 NVL", ""),
        ("NVIDIA RTX 6000 Ada Generation", ""),
        ("", ""),
    ],
)
def test_a_gpu_is_found_by_the_name_of_its_driver(said: str, name: str) -> None:
    assert recognised(said) == name


def test_a_name_is_found_in_any_spelling() -> None:
    assert sheet("H100") is sheet("h100") and sheet("RTX 4090").name == "RTX 4090"
    with pytest.raises(InputError, match="t4, l4, a10, a100"):
        sheet("voodoo2")


def test_unknown_figures_are_left_out() -> None:
    assert set(LEAST_LAUNCH) == {"Ampere", "Blackwell"}
    assert SHEETS["h100"].launch == min(LEAST_LAUNCH.values(), key=lambda rating: rating.value)


TORCH = "github.com/zzc0721/torch-performance-test-data"
"""The source of the measured rates of square matrix products with PyTorch 2.7 to 2.9. The owners of the GPUs
contributed these rates; each is the best of five sizes.
"""
PUBLISHED = [
    ("h100", f"{TORCH}/issues/79", {"float32": 51.88, "tf32": 402.15, "float16": 760.04, "bfloat16": 797.51}),
    (
        "a100",
        f"{TORCH}/issues/108",
        {"float32": 17.56, "tf32": 108.32, "float16": 241.49, "bfloat16": 234.14},
    ),
    ("l4", f"{TORCH}/issues/120", {"float32": 15.38, "tf32": 31.88, "float16": 68.83, "bfloat16": 70.89}),
    ("l40s", f"{TORCH}/issues/43", {"float32": 46.88, "float16": 264.02, "bfloat16": 269.15}),
    (
        "rtx4090",
        f"{TORCH}/issues/78",
        {"float32": 53.84, "tf32": 85.65, "float16": 168.38, "bfloat16": 164.81},
    ),
    ("rtx4090", "github.com/mli/transformers-benchmarks/issues/4", {"tf32": 86.676, "float16": 167.112}),
    (
        "rtx5090",
        f"{TORCH}/issues/96",
        {"float32": 70.47, "tf32": 122.19, "float16": 234.63, "bfloat16": 240.05},
    ),
    ("rtx5090", "github.com/vllm-project/vllm/pull/38338", {"bfloat16": 235.0}),
    ("a10", "github.com/NVIDIA/cutlass/issues/941 (cuBLAS)", {"float32": 12.47}),
]
"""GPU, source, and measured TFLOP/s by dtype."""


@pytest.mark.parametrize(("name", "source", "measured"), PUBLISHED)
def test_no_published_product_is_faster_than_its_data_sheet_allows(
    name: str, source: str, measured: dict[str, float]
) -> None:
    for dtype, tera in measured.items():
        assert tera * 1e12 <= SHEETS[name].peak(dtype).value, f"{source}: {dtype}"
        assert tera * 1e12 >= 0.25 * SHEETS[name].peak(dtype).value, (
            "the data sheet's peak must not be far too high"
        )


@pytest.mark.parametrize(
    ("name", "moved", "seconds"),
    [
        # NVBench results in github.com/NVIDIA/cccl/pull/7391: element-wise minimum of 2^28 float32 and
        # float16 numbers.
        ("b200", 3 * 4 * 2**28, 444.983e-6),
        ("b200", 3 * 2 * 2**28, 249.759e-6),
        ("rtx5090", 3 * 2 * 2**28, 1.022e-3),
    ],
)
def test_no_published_stream_is_faster_than_memory(name: str, moved: int, seconds: float) -> None:
    least = moved / SHEETS[name].bandwidth.value
    assert 0.75 * seconds < least <= seconds


@pytest.mark.parametrize(
    ("family", "seconds"),
    [
        # Kernel launches in sequence, measured with NVBench. Blackwell: the results cited above. Ampere: a
        # histogram kernel of four threads on an RTX 3060, a 3070 Ti and a 3060 Laptop
        # (github.com/R100001/Programming-Massively-Parallel-Processors).
        ("Blackwell", 2.015e-6),
        ("Blackwell", 2.275e-6),
        ("Ampere", 5.161e-6),
        ("Ampere", 1.844e-6),
    ],
)
def test_no_published_launch_is_cheaper_than_the_minimum(family: str, seconds: float) -> None:
    assert LEAST_LAUNCH[family].value <= seconds
