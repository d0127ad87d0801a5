"""The table of GPUs: every figure has a source, and names are found however they are written."""

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
def test_a_narrower_dtype_is_no_slower(name: str) -> None:
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
def test_a_gpu_by_what_its_driver_calls_it(said: str, name: str) -> None:
    assert recognised(said) == name


def test_a_name_however_it_is_written() -> None:
    assert sheet("H100") is sheet("h100") and sheet("RTX 4090").name == "RTX 4090"
    with pytest.raises(InputError, match="t4, l4, a10, a100"):
        sheet("voodoo2")


def test_what_is_not_known_is_left_out() -> None:
    assert set(LEAST_LAUNCH) == {"Ampere", "Blackwell"} and SHEETS["h100"].launch is None
