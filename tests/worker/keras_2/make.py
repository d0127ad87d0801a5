"""Writes the model files of this folder with Keras 2, from the package `tf_keras`, which the tests
themselves do not need.
"""

from pathlib import Path

import tf_keras as keras

HERE, layers = Path(__file__).parent, keras.layers
convolutions = keras.Sequential(
    [
        keras.Input((8, 8, 3)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.GlobalAveragePooling2D(),
        layers.Dense(3, activation="softmax"),
    ]
)
convolutions.compile("adam", "sparse_categorical_crossentropy")
convolutions.save(HERE / "convolutions.h5")
ids = keras.Input((None,), dtype="int32")
lstm = keras.Model(ids, layers.Dense(1)(layers.LSTM(4)(layers.Embedding(50, 4)(ids))))
lstm.save(HERE / "lstm.h5")
lstm.save(HERE / "functional.keras")
keras.Sequential([keras.Input((4,)), layers.Dense(2)]).save(HERE / "saved")
