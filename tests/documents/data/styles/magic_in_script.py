import tensorflow as tf

a = tf.random.normal((1000, 1000))
b = tf.random.normal((1000, 1000))

%timeit tf.matmul(a, b)
%timeit tf.matmul(a, b).numpy()
