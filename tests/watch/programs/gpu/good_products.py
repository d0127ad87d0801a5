# expects:
"""The step consists only of matrix products, which a GPU with tensor cores would compute faster in mixed
precision.
"""

import tensorflow as tf

x = tf.random.normal((256, 256))
w = tf.Variable(tf.random.normal((256, 256)) * 0.01)


@tf.function
def step(x):
    for _ in range(8):
        x = x @ w
    return x


for number in range(1000):
    y = step(x)
    if number % 100 == 0:
        print(float(y[0, 0]))
