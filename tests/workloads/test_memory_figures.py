"""The memory that a workload declares, compared with the memory that the process takes."""

import json
import subprocess
import sys

CASES = [
    ("compression", "quantise", "eager", {"elements": 10_000_000}),
    ("input_pipeline", "cached", "graph", {"images": 3_000, "host_cost": 0}),
    ("stft", "whole", "eager", {"samples": 8_388_608, "frame_step": 128, "filter": True}),
]
TENSORFLOW = 150e6
"""Bytes that TensorFlow itself allocates over time: loaded kernels, threads, scratch memory."""


def test_declared_memory_is_one_to_three_times_the_use():
    done = subprocess.run(
        [sys.executable, "-m", "tests.workloads.peak", json.dumps(CASES)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    for case, (declared, seen) in zip(CASES, figures, strict=True):
        assert seen <= declared + TENSORFLOW, case
        assert declared <= 3 * seen, case
