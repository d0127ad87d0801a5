"""The scenes, run once for all tests of this folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def scenes() -> dict[str, Any]:
    """What `scenes.py` tells, by scene."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.worker.placement.scenes"],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        timeout=200,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-3_000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told
