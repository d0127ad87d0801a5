import time

import tensorflow as tf

print(tf.config.list_physical_devices("GPU"))
x = tf.random.normal((2048, 2048))
tf.matmul(x, x)
tf.nn.softmax(x)
with tf.device("/CPU:0"):
    start = time.perf_counter()
    tf.matmul(x, x).numpy()
    cpu = time.perf_counter() - start
with tf.device("/GPU:0"):
    start = time.perf_counter()
    tf.nn.softmax(tf.matmul(x, x)).numpy()
    gpu = time.perf_counter() - start
print("speed-up", cpu / gpu)
