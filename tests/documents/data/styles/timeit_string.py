import timeit

import tensorflow as tf

x = tf.random.normal((512, 512))


@tf.function
def step():
    return tf.reduce_sum(x @ x)


step()
print(timeit.timeit("step", globals=globals(), number=1000))
print(timeit.timeit("step()", globals=globals(), number=1000))
print(timeit.timeit("step().numpy()", globals=globals(), number=1000))
