# expects:
import keras
import numpy as np

model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=10, alpha=0.35)
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy())
x, y = np.random.rand(128, 96, 96, 3).astype("float32"), np.random.randint(0, 10, 128)
model.fit(x, y, batch_size=16, epochs=3, verbose=2)
