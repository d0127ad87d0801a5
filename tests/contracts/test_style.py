"""The linters that every change must pass."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECKS = {
    "ruff": ["ruff", "check", "tuilab", "tests"],
    "format": ["ruff", "format", "--check", "tuilab", "tests"],
    "mypy": ["mypy", "tuilab"],
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_code_passes(name):
    words = [sys.executable, "-m", *CHECKS[name]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
