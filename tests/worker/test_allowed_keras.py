"""Every layer of the installed Keras is allowed in a model file under its saved name, unless it can run code."""

import inspect
from typing import Any

import pytest

from tuilab.worker.models.allowed_keras import CLASSES

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]
RUNS_CODE = {"Lambda", "TFSMLayer", "JaxLayer", "FlaxLayer", "TorchModuleWrapper"}
"""Layers that run a function from the file, load another file, or belong to another framework."""


def saved_as(layer: type) -> str:
    from keras.src.api_export import get_name_from_symbol

    return str(get_name_from_symbol(layer)).rpartition(".")[2]


def test_each_layer_that_only_computes_is_allowed(tf: Any) -> None:
    import keras

    public = [getattr(keras.layers, name) for name in dir(keras.layers)]
    layers = {each for each in public if inspect.isclass(each) and issubclass(each, keras.layers.Layer)}
    saved = {saved_as(layer) for layer in layers}
    assert (
        len(saved) > 100 and saved >= {"Dense", "GroupQueryAttention"} and saved >= RUNS_CODE - {"FlaxLayer"}
    )
    assert saved - RUNS_CODE - CLASSES["layers"] == set()
    assert not RUNS_CODE & CLASSES["layers"]
