import sys

import pytest

from tests.telemetry.fake_nvml import FakeNvml
from tuilab import nvml


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    library = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    nvml._shared.cache_clear()
    yield library
    nvml._shared.cache_clear()
