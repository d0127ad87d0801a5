import time

import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

a = tf.placeholder(tf.float32, (1024, 1024))
product = tf.matmul(a, a)

with tf.Session() as sess:
    data = sess.run(tf.random_normal((1024, 1024)))
    start = time.perf_counter()
    sess.run(product, {a: data})
    print("matmul:", time.perf_counter() - start)
