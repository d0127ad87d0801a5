"""Profiles of real GPUs, from a folder next to the repository."""

import gzip
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tuilab.profile.threads import Activity, activity
from tuilab.profile.xplane import HOST, Recording, read

RECORDINGS = Path(__file__).resolve().parents[2].parent / "shared" / "gpu" / "recordings"
NVIDIA = "tf-gpu-multi-worker.xplane.pb.gz"
AMD = "tracelens_test_data_jax_te_fused_attn_categorization_934987a2fc2f.xplane.pb"
MI300 = "tracelens_traces_mi300_jax_conv_minimal_08_tw003.xplane.pb"
MI300_OLD = (
    "tracelens_traces_mi300_jax_conv_minimal_legacy_chi-mi300x-013.ord.vultr.cpe.ice.amd.com.xplane.pb"
)

pytestmark = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="no recordings of real GPUs next to the repository"
)


@cache
def recorded(name: str) -> tuple[Recording, Activity]:
    data = (RECORDINGS / name).read_bytes()
    recording = read(gzip.decompress(data) if name.endswith(".gz") else data)
    return recording, activity(recording.lines)


def phases(name: str) -> Counter[str]:
    recording, found = recorded(name)
    on_devices = [seen for seen in found.events if recording.lines[seen.lane].device != HOST]
    return Counter(str(seen.meaning.phase) for seen in on_devices)


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        (NVIDIA, {"GPU:1", "GPU:4", "GPU:6"}),
        (AMD, {"GPU:0"}),
        (MI300, {f"GPU:{n}" for n in range(8)}),
        (MI300_OLD, {"GPU:0", "GPU:7"}),
    ],
)
def test_the_streams_of_each_gpu_are_found(name: str, devices: set[str]) -> None:
    recording, _ = recorded(name)
    assert {line.device for line in recording.lines} - {HOST} == devices


@pytest.mark.parametrize(
    ("name", "copies", "kernels"),
    [(NVIDIA, 226, 1330), (AMD, 0, 150), (MI300_OLD, 53, 25)],
)
def test_copies_and_kernels_are_distinguished(name: str, copies: int, kernels: int) -> None:
    assert phases(name) == Counter({"copy": copies, "compute": kernels}) - Counter({"copy": 0})


def test_a_copying_kernel_counts_as_a_copy() -> None:
    recording, found = recorded(MI300)
    by_name = {
        seen.event.name: seen.meaning.phase
        for seen in found.events
        if recording.lines[seen.lane].device != HOST
    }
    assert by_name["__amd_rocclr_copyBuffer.kd"] == "copy" and by_name["Im3d2Col.kd"] == "compute"


def test_kernels_are_assigned_to_the_ops_that_launched_them() -> None:
    _, found = recorded(NVIDIA)
    named = {
        seen.meaning.key.op
        for seen in found.events
        if seen.meaning.key and seen.meaning.key.device == "GPU:4"
    }
    assert {"Cast", "Mul"} <= named
    hlo = {seen.meaning.key.op for seen in recorded(AMD)[1].events if seen.meaning.key}
    assert any(op.startswith("hlo ") for op in hlo)


@pytest.mark.parametrize("name", [NVIDIA, AMD, MI300, MI300_OLD])
def test_no_event_is_lost_or_reversed(name: str) -> None:
    recording, found = recorded(name)
    on_devices = sum(len(line.events) for line in recording.lines if line.device != HOST)
    assert sum(recording.lines[seen.lane].device != HOST for seen in found.events) == on_devices
    assert all(segment.end >= segment.start for segment in found.segments)
