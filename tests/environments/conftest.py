"""Fixtures for environments with other TensorFlow versions, and for measurements in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.environments import build


@pytest.fixture(scope="session")
def tensorflow_of() -> Callable[[str], Path]:
    """Return a function that returns the folder of an environment with a given TensorFlow version, or
    skips the test if the environment is unavailable.
    """

    def found(version: str) -> Path:
        try:
            return build.environment(version)
        except build.Missing as error:
            pytest.skip(str(error))

    return found


@pytest.fixture(autouse=True)
def as_a_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start workers without forking: forked workers would use tuilab's own TensorFlow."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("TUILAB_TESTS_FORKED", "")
