# expects: cudnn-off
# may: launch-bound, small-batches, between-steps, mixed-precision, host-op
"""Because of a setting, Keras does not use the cuDNN kernel for a recurrent layer."""

import keras
import numpy as np

net = keras.Sequential(
    [
        keras.Input((12, 6)),
        keras.layers.GRU(16, recurrent_dropout=0.2),  # <- cudnn-off
        keras.layers.Dense(1),
    ]
)
net.compile("sgd", "mse")
x = np.random.rand(640, 12, 6).astype("float32")
net.fit(x, np.zeros((640, 1), "float32"), batch_size=32, epochs=3, verbose=0)
