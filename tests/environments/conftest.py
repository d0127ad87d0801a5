"""Environments of other TensorFlows, and what a lab measures in one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import build


@pytest.fixture(scope="session")
def tensorflow_of() -> Callable[[str], Path]:
    """The folder of an environment with that version. Skips where it cannot be had."""

    def found(version: str) -> Path:
        try:
            return build.environment(version)
        except build.Missing as error:
            pytest.skip(str(error))

    return found


@pytest.fixture(autouse=True)
def as_a_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started as a user's are: the one that tests fork is of the lab's own TensorFlow."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("TUILAB_TESTS_FORKED", "")
