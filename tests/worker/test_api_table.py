"""Which modules below TensorFlow are its public names, however they were imported."""

from types import ModuleType

import pytest

from tuilab.worker.api_table import _is_public

SITE = "/env/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("name", "file", "public"),
    [
        ("tensorflow._api.v2.linalg", "tensorflow/_api/v2/linalg/__init__.py", True),
        ("tensorflow.linalg", "tensorflow/_api/v2/linalg/__init__.py", True),
        ("tensorflow.keras.layers", "keras/_tf_keras/keras/layers/__init__.py", True),
        ("tensorflow.python.ops", "tensorflow/python/ops/__init__.py", False),
        ("numpy", "numpy/__init__.py", False),
    ],
)
def test_a_module_is_public_by_its_file_as_by_its_name(name: str, file: str, public: bool):
    module = ModuleType(name)
    module.__file__ = f"{SITE}/{file}"
    assert _is_public(module) is public


def test_a_built_in_module_has_no_file_and_is_not():
    assert not _is_public(ModuleType("sys"))
