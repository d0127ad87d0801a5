# %% [markdown]
# # Elementwise speed

# %%
import time
import tensorflow as tf
x = tf.random.normal((1 << 20,))

# %%
%timeit -n 100 tf.exp(x).numpy()

# %%
t0 = time.monotonic()
y = tf.exp(x)
t1 = time.monotonic()
print(f"exp took {t1 - t0} s")
