"""tuilab recognizes files written by Keras 2, and its error message shows how to convert them."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tuilab.model.errors import InputError
from tuilab.model.scenario import AS_IT_IS
from tuilab.worker.models import open_model

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]
OLD = {"class_name": "Functional", "module": "tf_keras.src.engine.functional", "config": {"layers": []}}


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_a_keras_2_file_is_named_with_what_to_do(tf: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"old.{ending}"
    if ending == "keras":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("metadata.json", json.dumps({"keras_version": "2.15.0"}))
            archive.writestr("config.json", json.dumps(OLD))
    else:
        import h5py

        with h5py.File(path, "w") as file:
            file.attrs["keras_version"], file.attrs["model_config"] = "2.15.0", json.dumps(OLD)
    with pytest.raises(InputError) as refused:
        open_model(str(path), AS_IT_IS)
    text = str(refused.value)
    assert "it was saved by Keras 2.15.0, and this Keras 3 cannot restore it" in text
    assert f"tf_keras.models.load_model('old.{ending}').export('exported')" in text and "--trust" not in text
