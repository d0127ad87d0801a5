import ctypes
import shutil
from pathlib import Path

import pytest

from tests.doctor.machine import Machine, compiled

RUN_PATH = ":".join(
    f"$ORIGIN/../nvidia/{name}/lib"
    for name in ("cuda_runtime", "cublas", "cufft", "cusparse", "cudnn", "nccl", "cuda_cupti")
)
"""The library search path of TensorFlow 2.21: the folders of all CUDA wheels except cusolver's."""


@pytest.fixture(scope="session")
def gcc() -> str:
    found = shutil.which("gcc")
    if found is None:
        pytest.skip("gcc is not installed, so the stub driver cannot be compiled")
    return found


@pytest.fixture(scope="session")
def stub(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(gcc, tmp_path_factory.mktemp("stub"))


@pytest.fixture(scope="session")
def framework(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(gcc, tmp_path_factory.mktemp("framework"), RUN_PATH)


@pytest.fixture
def machine(tmp_path: Path, stub: Path, framework: Path) -> Machine:
    return Machine(tmp_path, stub, framework)


@pytest.fixture
def no_driver() -> None:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    pytest.skip("this machine has a real libcuda.so.1")
