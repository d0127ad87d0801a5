"""tuilab measures every kind of model file with inputs that its layers accept, or rejects the file with a
message.
"""

import numpy as np
import pytest

from tests.worker.test_models import declare, run
from tests.worker.zoo import KINDS
from tuilab.model.events import Declared, Refused
from tuilab.model.scenario import Opening
from tuilab.model.shapes import checked, parse
from tuilab.worker.models.keras_file import _Opened

pytestmark = [pytest.mark.real_worker, pytest.mark.slow]


@pytest.mark.parametrize("name", KINDS)
def test_it_is_measured_or_refused_in_a_sentence(tf, worker, tmp_path, name):
    kind = KINDS[name]
    file = kind.save(tf, tmp_path)
    code = str(tmp_path / "own.py") if kind.code else ""
    opening = Opening(code=code, inputs=checked([parse(each) for each in kind.given]))
    answer = declare(worker, file, opening)
    if kind.refused:
        assert isinstance(answer, Refused), answer
        assert kind.refused in answer.message and "\n" not in answer.message and not answer.detail
        print(f"| {name} | refused | {answer.message.replace(str(tmp_path), '')} |")
        return
    assert isinstance(answer, Declared), answer
    state = run(worker, file, opening, **dict(kind.values))
    for arm in state.arms.values():
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
    assert kind.says in " ".join(state.model.said)
    values = tuple(each.values for each in state.model.inputs)
    assert values == kind.inputs or not kind.inputs
    print(f"| {name} | {len(state.arms)} arms | {'; '.join(values)} {' '.join(state.model.said)} |")


def test_a_training_copy_keeps_what_its_layers_learned_from_data(tf, tmp_path):
    import keras

    loaded = tf.keras.models.load_model(KINDS["adapted layers"].save(tf, tmp_path))
    config = keras.saving.serialize_keras_object(loaded)
    copy = _Opened("model", config, loaded, trust=False).model(tf, "CPU:0", "float32", "training")
    words = tf.constant([["blue red"], ["green"]]), tf.constant([["Bo", "Cy"], ["Ann", "none"]])
    inputs = [*words, tf.constant([[1.0, 5.0, 60.0], [2.0, 20.0, 10.0]])]
    assert copy is not loaded
    np.testing.assert_allclose(copy(inputs), loaded(inputs), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("ragged signature", {"ids": np.arange(10, dtype="int32"), "ids_1": np.array([0, 3, 3, 10])}),
        (
            "sparse signature",
            {
                "counts": np.array([[0, 1], [1, 5], [3, 99]]),
                "counts_1": np.ones(3, "float32"),
                "counts_2": np.array([4, 600]),
            },
        ),
        ("serialized examples", {"records": np.array([b"", b""])}),
    ],
)
def test_given_inputs_of_every_kind_are_measured(tf, worker, tmp_path, name, arrays):
    file = KINDS[name].save(tf, tmp_path)
    np.savez(tmp_path / "given.npz", **arrays)
    state = run(worker, file, Opening(data=str(tmp_path / "given.npz")))
    for arm in state.arms.values():
        assert arm.status == "ok", f"{arm.label}: {arm.reason}\n{arm.detail}"
    assert {each.values for each in state.model.inputs} == {"given"}


def test_row_splits_that_do_not_fit_are_refused(tf, worker, tmp_path):
    file = KINDS["ragged signature"].save(tf, tmp_path)
    np.savez(tmp_path / "given.npz", ids=np.arange(4), ids_1=np.array([0, 3, 9]))
    answer = declare(worker, file, Opening(data=str(tmp_path / "given.npz")))
    assert isinstance(answer, Refused) and "\n" not in answer.message
