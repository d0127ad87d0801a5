import tensorflow as tf

for gigabytes in (1, 2, 4, 8):
    try:
        with tf.device("/GPU:0"):
            x = tf.zeros((gigabytes, 1024, 1024, 256))
    except MemoryError:
        print("no room for", gigabytes)
        break
