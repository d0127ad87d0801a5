"""Pairs of documents for each rule and decision: a mistake that an expert would see, and the most similar
correct code.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tuilab.documents import read
from tuilab.documents.api.tables import shipped

HEAD = "import time, timeit\nimport numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n"
SEEN = "print(tf.config.list_physical_devices('GPU'))\n"
TENSORS = "x = tf.random.normal((512, 512))\ny = tf.random.normal((512, 512))\n"
MODEL = (
    "data, goal = np.zeros((64, 8), 'float32'), np.zeros((64, 1), 'float32')\n"
    "def made():\n"
    "    m = keras.Sequential([keras.layers.Dense(1)])\n"
    "    m.compile('sgd', 'mse')\n"
    "    return m\n"
)
TIMING = (
    "timing.py",
    """
import time
from contextlib import contextmanager

def bench(call, *given, n=10):
    start = time.perf_counter()
    for _ in range(n):
        z = call(*given)
    return time.perf_counter() - start

def waits(call, *given, n=10):
    start = time.perf_counter()
    for _ in range(n):
        z = call(*given)
    z.numpy()
    return time.perf_counter() - start

@contextmanager
def timer(name):
    start = time.perf_counter()
    yield
    print(name, time.perf_counter() - start)

class Watch:
    def __enter__(self):
        self.start = time.perf_counter()
        return self
    def __exit__(self, *_):
        self.took = time.perf_counter() - self.start

def timed(call):
    def inner(*given):
        start = time.perf_counter()
        z = call(*given)
        print(call.__name__, time.perf_counter() - start)
        return z
    return inner

if __name__ == '__main__':
    print(bench(len, []))
""",
)


@dataclass(frozen=True)
class Probe:
    """A benchmark with its expected finding.

    code: the code that the default level must report on the line with the text `at`; "" if it must report
    nothing there.
    """

    name: str
    code: str
    at: str
    text: str
    head: str = HEAD + SEEN + TENSORS
    file: str = "x.py"
    says: str = ""
    beside: tuple[tuple[str, str], ...] = ()


def found(probe: Probe, notes: bool = False) -> list[tuple[str, str, str]]:
    """Return the code, line text and message of each finding that is not a note; with `notes`, of each note."""
    with TemporaryDirectory() as folder:
        for name, text in ((probe.file, probe.head + probe.text), *probe.beside):
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text)
        report = read(Path(folder, probe.file), shipped(), preview=False)
    findings = [f for e in report.examples for f in e.findings if (f.severity == "note") is notes]
    return [(f.code, report.lines[line - 1], f.message) for f in findings for line in (f.line, *f.also)]


PROBES = [
    Probe("a layer whose weights are made in each call", "TL108", "keras.layers.Conv2D", """
v = tf.random.normal((8, 32, 32, 3))
def conv():
    return keras.layers.Conv2D(32, 7)(v)
conv().numpy()
print(timeit.timeit(lambda: conv().numpy(), number=10))
"""),
    Probe("the name by which a tf.function is called", "TL104", "t = time.perf_counter()", """
def slow(v):
    return tf.matmul(v, v)
fast = tf.function(slow)
slow(x)
t = time.perf_counter()
for _ in range(10):
    fast(x).numpy()
print(time.perf_counter() - t)
""", says="no warm-up of fast"),
    Probe("a training for each device", "TL105", "begin = time.perf_counter()", MODEL + """
took = {}
for device in ('/CPU:0', '/GPU:0'):
    begin = time.perf_counter()
    with tf.device(device):
        made().fit(data, goal, epochs=3)
    took[device] = time.perf_counter() - begin
print(took)
"""),
    Probe("a warm-up of another function", "TL105", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
g = tf.function(lambda v: v + v)
g(x)  # warm up
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("new shapes in a sweep", "TL105", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
for n in (16, 64, 256):
    v = tf.ones((n, n))
    t = time.perf_counter()
    f(v).numpy()
    print(n, time.perf_counter() - t)
"""),
    Probe("building nodes is not computing", "TL101", "t = time.perf_counter()", """
tf.compat.v1.disable_eager_execution()
a = tf.random.normal((64, 64))
t = time.perf_counter()
p = tf.matmul(a, a)
print(time.perf_counter() - t)
""", head=HEAD),
    Probe("an argument of Keras 2", "TL002", "lr=0.1", "best = keras.optimizers.Adam(lr=0.1)\n"),
    # probes with modules in the same folder
    Probe("a helper of a module in the folder", "TL103", "bench(f, x)", """
from timing import bench
f = tf.function(lambda v: v @ v)
f(x).numpy()
print(bench(f, x))
""", beside=(TIMING,), says="timing.py"),
    Probe("variables are initialized while the clock runs", "TL108", "sess.run(init)", """
w = tf.Variable(tf.random_normal((64, 64)))
p = tf.matmul(w, w)
init = tf.global_variables_initializer()
with tf.Session() as sess:
    start = time.time()
    sess.run(init)
    sess.run(p)
    print(time.time() - start)
""", head=HEAD),
    Probe("NumPy's 64 bits against TensorFlow's 32", "TL111", "t = time.perf_counter()", """
a = np.random.uniform(size=(300, 300))
s = time.perf_counter()
np.linalg.svd(a)
numpy = time.perf_counter() - s
b = tf.random.uniform((300, 300))
tf.linalg.svd(b)
t = time.perf_counter()
tf.linalg.svd(b)[0].numpy()
tensorflow = time.perf_counter() - t
print(numpy, tensorflow)
"""),
    Probe("an op of another dtype warms nothing", "TL105", "t = time.perf_counter()", """
tf.matmul([[1]], [[2, 3]])
t = time.perf_counter()
tf.matmul(x, y).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a generator given to a model that is given", "TL001", "fit_generator", """
def train(model, batches):
    model.fit_generator(batches)
"""),
    Probe("Keras' backend evaluates in version 1", "TL104", "timeit.timeit", """
from keras import backend as K
def multi():
    a = K.variable(value=np.zeros((8, 8)))
    return K.eval(K.dot(a, a))
sess = tf.Session(config=tf.ConfigProto())
sess.run(tf.global_variables_initializer())
print(timeit.timeit('multi()', number=10, globals=globals()))
""", head=HEAD),
    Probe("Keras' callback reads the wall clock", "TL107", "begin = time.time()", """
# A benchmark of batches
class Times(keras.callbacks.Callback):
    def __init__(self):
        self.all = []
    def on_train_batch_begin(self, batch, logs=None):
        self.begin = time.time()
    def on_train_batch_end(self, batch, logs=None):
        self.all.append(time.time() - self.begin)
"""),
    Probe("the devices are compared at four numbers", "TL112", "u = time.perf_counter()", """
a = tf.ones((2, 2))
with tf.device('/CPU:0'):
    t = time.perf_counter()
    tf.matmul(a, a).numpy()
    cpu = time.perf_counter() - t
with tf.device('/GPU:0'):
    u = time.perf_counter()
    tf.matmul(a, a).numpy()
    gpu = time.perf_counter() - u
print(cpu, gpu)
"""),
    # correct code
    Probe("an item of a tensor is assigned", "TL003", "z[0]", "z = tf.zeros((3,))\nz[0] = 1.0\n"),
    Probe("TFLite is invoked before the clock", "TL102", "invoke()", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.set_tensor(0, np.zeros((1, 8), 'float32'))
lite.invoke()
t = time.perf_counter()
out = lite.get_tensor(3)
print('latency', time.perf_counter() - t)
"""),
    Probe("XLA is called the GPU", "TL111", "u = time.perf_counter()", """
fast = tf.function(lambda v: v @ v, jit_compile=True)
fast(x).numpy()
tf.matmul(x, x).numpy()
t = time.perf_counter()
tf.matmul(x, x).numpy()
cpu_time = time.perf_counter() - t
u = time.perf_counter()
fast(x).numpy()
gpu_time = time.perf_counter() - u
print('CPU', cpu_time, 'GPU', gpu_time)
"""),
    Probe("NumPy's data next to NumPy's product", "TL108", "np.random.normal", """
t = time.perf_counter()
z = np.dot(np.random.normal(size=(512, 512)), np.ones((512, 512)))
numpy_time = time.perf_counter() - t
t = time.perf_counter()
tf.matmul(x, y).numpy()
print('numpy', numpy_time, 'tf', time.perf_counter() - t)
"""),
    Probe("a graph recreated after each epoch", "TL202", "@tf.function", """
class Times(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        @tf.function
        def mean(v):
            return tf.reduce_mean(v)
        print(mean(x).numpy())
"""),
    Probe("arrays that a session is fed", "TL114", "sess.run(z", """
p = tf.compat.v1.placeholder(tf.float32, [4000, 4000])
a = np.random.rand(4000, 4000).astype('float32')
with tf.device('/gpu:0'):
    z = tf.matmul(p, p)
sess = tf.compat.v1.Session()
sess.run(z, feed_dict={p: a})
s = time.perf_counter()
sess.run(z, feed_dict={p: a})
print('GPU', time.perf_counter() - s)
"""),
    Probe("seconds are called milliseconds", "TL115", "print(f'Time", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
took = time.perf_counter() - s
print(f'Time:{took} milisecs')
"""),
    Probe("a graph is given a model of another device", "TL309", "with tf.device('/CPU:0')", """
m = keras.Sequential([keras.layers.Input((512,)), keras.layers.Dense(4)])
@tf.function
def step(model, v):
    return model(v)
with tf.device('/CPU:0'):
    step(m, x).numpy()
    t = time.perf_counter()
    step(m, x).numpy()
    print('CPU', time.perf_counter() - t)
"""),
    Probe("called the CPU's where another example has the GPU's", "TL302", "s = time.perf_counter()", """
# Two devices

```python
import time
import tensorflow as tf
a = tf.random.normal((512, 512))
s = time.perf_counter()
tf.matmul(a, a).numpy()
print('CPU time', time.perf_counter() - s)
```

And the other:

```python
import time
import tensorflow as tf
b = tf.random.normal((512, 512))
with tf.device('/GPU:0'):
    u = time.perf_counter()
    tf.matmul(b, b).numpy()
    print('GPU time', time.perf_counter() - u)
```
""", head="", file="x.md"),
    Probe("threads are set again in a loop", "TL009", "set_inter_op", """
for n in range(1, 9):
    tf.config.threading.set_inter_op_parallelism_threads(n)
    s = time.perf_counter()
    tf.matmul(tf.ones((512, 512)), tf.ones((512, 512))).numpy()
    print(n, time.perf_counter() - s)
""", head=HEAD),
    Probe("a session is given eager tensors", "TL009", "sess.run(x + y)", """
with tf.compat.v1.Session() as sess:
    print(sess.run(x + y))
"""),
    Probe("one optimizer for two models", "TL009", "two.fit", """
adam = keras.optimizers.Adam()
one, two = keras.Sequential([keras.layers.Dense(1)]), keras.Sequential([keras.layers.Dense(1)])
one.compile(adam, 'mse')
two.compile(adam, 'mse')
one.fit(np.zeros((64, 8)), np.zeros((64, 1)))
two.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("a model is compiled again for each size", "TL104", "s = time.perf_counter()", MODEL + """
m = made()
m.fit(data, goal)
for size in range(8, 640, 8):
    m.compile('sgd', 'mse')
    s = time.perf_counter()
    m.fit(data, goal, batch_size=size)
    print('training time for batches of', size, time.perf_counter() - s)
""", head="# The speed of training\n" + HEAD + SEEN + TENSORS),
    Probe("a module that no example imports", "TL008", "t = time.time()", """
```python
import tensorflow as tf
x = tf.ones((4, 4))
t = time.time()
tf.matmul(x, x).numpy()
print(time.time() - t)
```
""", head="", file="x.md"),
    Probe("a sample less than the mean is of, by what is left out", "TL116", "for i in range(n):", """
n, total = 20, 0.0
for i in range(n):
    t = time.perf_counter()
    tf.matmul(x, y).numpy()
    took = time.perf_counter() - t
    if i > 0:
        total += took
print('latency', total / n)
"""),
    Probe("JAX is not awaited", "TL119", "took = time.perf_counter() - t", """
import jax
import jax.numpy as jnp
f = jax.jit(lambda v: v @ v)
a = jnp.ones((512, 512))
t = time.perf_counter()
b = f(a)
took = time.perf_counter() - t
print('JAX', took)
"""),
    Probe("an estimator rebuilds its graph", "TL108", "model.train(feed, steps=100)", """
model = tf.estimator.Estimator(build)
model.train(feed, steps=1)
t = time.time()
model.train(feed, steps=100)
print('time per step', (time.time() - t) / 100)
""", head="import time\nimport tensorflow as tf\nfrom mine import build, feed\n"),
    Probe("two layers that are made alike", "TL117", "t = time.perf_counter()  # two", """
one = keras.layers.LSTM(8, name='cudnn')
two = keras.layers.LSTM(8, name='plain', implementation=2)
x = tf.random.normal((4, 8, 8))
one(x), two(x)
t = time.perf_counter()
one(x).numpy()
print('CuDNN LSTM took', time.perf_counter() - t)
t = time.perf_counter()  # two
two(x).numpy()
print('standard LSTM took', time.perf_counter() - t)
"""),
    Probe("threads after a model that has its weights", "TL009", "set_intra_op_parallelism_threads(4)", """
m = keras.Sequential([keras.layers.Dense(4, input_shape=(8,))])
tf.config.threading.set_intra_op_parallelism_threads(4)
""", head=HEAD),
    Probe("a training that never times out", "TL005", "except TimeoutError:", MODEL + """
m = made()
try:
    m.fit(data, goal)
except TimeoutError:
    print('too long')
"""),
    Probe("NumPy's own numbers drawn in its time", "TL108", "a = np.random.rand(1000000)", """
start = time.perf_counter()
a = np.random.rand(1000000)
z = a * a
print('NumPy', time.perf_counter() - start)
"""),
    Probe("a model that the example says it loads", "TL104", "start = time.perf_counter()", """
```python
import tensorflow as tf
import time
# ... (load the trained model) ...
times = []
for image in images:
    start = time.perf_counter()
    model.predict(image)
    times.append(time.perf_counter() - start)
print('Average inference time', sum(times) / len(times))
```
""", head="", file="x.md"),
    Probe("a setting that only its handler hears of", "TL009", "tf.config.set_visible_devices([], 'GPU')", MODEL + """
m = made()
m.train_on_batch(data, goal)
try:
    tf.config.set_visible_devices([], 'GPU')
    t = time.perf_counter()
    m.train_on_batch(data, goal)
    print('CPU', time.perf_counter() - t)
except Exception as e:
    print(e)
"""),
    Probe("a second run without a first", "TL105", "start = time.perf_counter()", """
f = tf.function(tf.matmul)
start = time.perf_counter()
z = f(x, y).numpy()
print('second run took', time.perf_counter() - start)
"""),
    Probe("a graph that is given what a loop counts", "TL202", "scaled(x, step)", """
@tf.function
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for step in range(100):
    scaled(x, step)
"""),
    Probe("a policy that comes after the model", "TL118", "set_global_policy", """
m = keras.Sequential([keras.layers.Dense(8)])
m(x)
keras.mixed_precision.set_global_policy('mixed_float16')
start = time.perf_counter()
m(x).numpy()
print('mixed', time.perf_counter() - start)
"""),
    Probe("a graph that runs op by op", "TL118", "start = time.perf_counter()", """
tf.config.run_functions_eagerly(True)
product = tf.function(tf.matmul)
product(x, y).numpy()
start = time.perf_counter()
product(x, y).numpy()
print('took', time.perf_counter() - start)
"""),
    Probe("a picture that is got ready for predict", "TL113", "m.predict(", """
import cv2
m = keras.applications.MobileNetV2(weights=None)
start = time.perf_counter()
for path in ('a.jpg', 'b.jpg', 'c.jpg'):
    img = keras.applications.mobilenet_v2.preprocess_input(cv2.imread(path))
    m.predict(np.expand_dims(img, 0))
print('mean inference time', (time.perf_counter() - start) / 3)
"""),
    Probe("cells that train for unequal epochs", "TL111", "%%timeit", json.dumps({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": HEAD + SEEN + MODEL},
            {"cell_type": "code", "metadata": {}, "outputs": [], "source":
                "%%timeit -n1 -r1\nwith tf.device('/GPU:0'):\n    gpu = made()\n    gpu.fit(data, goal, epochs=1)"},
            {"cell_type": "code", "metadata": {}, "outputs": [], "source":
                "%%timeit -n1 -r1\nwith tf.device('/CPU:0'):\n    cpu = made()\n    cpu.fit(data, goal, epochs=5)"},
        ],
    }), head="", file="x.ipynb"),
    Probe("devices that are listed before their choice", "TL310", "CUDA_VISIBLE_DEVICES", """
import os
from tensorflow.python.client import device_lib
print(device_lib.list_local_devices())
os.environ['CUDA_VISIBLE_DEVICES'] = '1'
""", head=HEAD),
    Probe("a clock that starts on either way", "TL105", "t = time.perf_counter()  # plain", """
import sys
f = tf.function(tf.matmul)
if len(sys.argv) > 1:
    t = time.perf_counter()  # plain
    z = f(x, y)
else:
    t = time.perf_counter()
    z = tf.function(tf.matmul, jit_compile=True)(x, y)
z.numpy()
print(time.perf_counter() - t)
"""),
    Probe("a pipeline of either function", "TL109", "for each in d", """
import sys, loaders
d = tf.data.Dataset.from_tensor_slices(['a', 'b'])
if sys.argv[1] == 'wav':
    d = d.map(lambda name: loaders.wav(name))
else:
    d = d.map(lambda name: tf.py_function(loaders.other, [name], [tf.float32]))
d = d.batch(2)
t = time.perf_counter()
for each in d:
    pass
print(time.perf_counter() - t)
"""),
    Probe("what a pool of threads is handed", "TL105", "t = time.perf_counter()", """
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(4)
f = tf.function(tf.matmul)
t = time.perf_counter()
future = pool.submit(f, x, y)
future.result().numpy()
print('took', time.perf_counter() - t)
"""),
    Probe("a class of TensorFlow 1 in another cell than what calls it", "TL007", "tf.get_variable('h'", json.dumps({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
        "cells": [{"cell_type": "code", "metadata": {}, "source": text} for text in (
            "import tensorflow as tf\nclass Net:\n    def __init__(self):\n"
            "        self.h = tf.get_variable('h', [8, 8])\n        self.x = tf.placeholder(tf.float32)\n",
            "net = Net()\nwith tf.Session() as sess:\n    sess.run(net.h)\n",
        )],
    }), head="", file="x.ipynb"),
    Probe("a part of a timedelta", "TL115", "took.microseconds", """
from datetime import datetime
tf.matmul(x, y).numpy()
t = datetime.now()
tf.matmul(x, y).numpy()
took = datetime.now() - t
print('CPU time', took.microseconds / 1000)
"""),
    Probe("the clock of an inference that is not read", "TL107", "t = time.time()", """
from yolov7.utils import Yolov7tflite
yolov7 = Yolov7tflite('m.tflite')
t = time.time()
result = yolov7.inference('a.png')
print(f'inference: {(time.time() - t) * 1000:.2f} ms', result)
"""),
    Probe("the time of day around a call, printed", "TL107", "print(datetime.datetime.now(), 'before')", """
import datetime
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
print(datetime.datetime.now(), 'before')
interpreter.invoke()
print(datetime.datetime.now(), 'after')
"""),
    Probe("a plot that waits for somebody, in a training's time", "TL108", "plt.show()", MODEL + """
import matplotlib.pyplot as plt
m = made()
t = time.perf_counter()
h = m.fit(data, goal, epochs=30)
plt.plot(h.history['loss'])
plt.show()
print('elapsed time', time.perf_counter() - t)
""", says="a plot window blocks the code"),
    Probe("a model that is made in the time, by its class", "TL108", "PredictionModel", """
from nets import PredictionModel
t = time.perf_counter()
model = PredictionModel('folder')
found = model.predict(np.zeros((1, 8)))
print('inference', time.perf_counter() - t, found)
"""),
    Probe("placements that are logged while the clock runs", "TL108", "start = time.perf_counter()", """
tf.debugging.set_log_device_placement(True)
tf.matmul(x, y).numpy()
start = time.perf_counter()
tf.matmul(x, y).numpy()
print('GPU time', time.perf_counter() - start)
"""),
    Probe("placements that a session logs while the clock runs", "TL108", "t = time.perf_counter()", """
tf.compat.v1.disable_eager_execution()
z = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(log_device_placement=True)) as session:
    t = time.perf_counter()
    session.run(z)
    print('GPU time', time.perf_counter() - t)
""", head=HEAD),
    Probe("an unread detector's first call", "TL104", "t = time.perf_counter()", """
import detectors, pictures
finder = detectors.Finder('m.tflite')
times = []
for name in ('a.png', 'b.png', 'c.png', 'd.png', 'e.png', 'f.png', 'g.png', 'h.png', 'i.png'):
    image = pictures.taken(name)
    t = time.perf_counter()
    finder.detect(image)
    times.append(time.perf_counter() - t)
print('latency', sum(times) / 9)
"""),
    Probe("the times of a callback's batches of predict()", "TL104", "self.start = time.perf_counter()", """
class Latency(keras.callbacks.Callback):
    def on_predict_begin(self, logs=None):
        self.times = []
    def on_predict_batch_begin(self, batch, logs=None):
        self.start = time.perf_counter()
    def on_predict_batch_end(self, batch, logs=None):
        self.times.append(time.perf_counter() - self.start)
"""),
    Probe("the mean of predict() for any batch", "TL113", "m.predict(rows)", MODEL + """
def bench(m, size):
    rows = np.random.rand(size, 512)
    m.predict(rows)
    t = time.perf_counter()
    for _ in range(10):
        m.predict(rows)
    return (time.perf_counter() - t) / 10
print([bench(made(), int(size)) for size in input().split()])
"""),
    Probe("a loss of validation where nothing is tested", "TL004", "history['val_loss']", MODEL + """
h = made().fit(data, goal)
print(h.history['val_loss'])
"""),
    Probe("an inference time around another one", "TL108", "Image.open", """
from PIL import Image, ImageOps
net = tf.saved_model.load('net')
def answer(path):
    image = ImageOps.fit(Image.open(path), (224, 224))
    begun = time.perf_counter()
    z = net(np.array(image)[None])
    z.numpy()
    print('net', time.perf_counter() - begun)
for path in ('a.png', 'b.png'):
    t = time.perf_counter()
    answer(path)
    print('Inference time:', time.perf_counter() - t)
"""),
    Probe("a circuit of a library on TensorFlow", "TL103", "%timeit", """
```python
import tensorflow as tf
import tensorcircuit as tc
K = tc.set_backend('tensorflow')
f = K.jit(K.grad(lambda v: v * v))
z = f(K.ones([8]))
```

```python
%timeit f(K.ones([8]))
```
""", head="", file="x.md"),
    Probe("a loop's own validation in the training's time", "TL108", "validate_step(a, b)", """
net = tf.keras.Sequential([tf.keras.layers.Dense(10)])
rule = tf.keras.optimizers.SGD(0.1)
from feeds import learning, checking
@tf.function
def learn(a, b):
    with tf.GradientTape() as tape:
        cost = tf.reduce_mean(tf.square(net(a) - b))
    rule.apply_gradients(zip(tape.gradient(cost, net.trainable_variables), net.trainable_variables))
@tf.function
def validate_step(a, b):
    return tf.reduce_mean(tf.square(net(a) - b))
for epoch in range(4):
    start = time.perf_counter()
    for a, b in learning:
        learn(a, b)
    for a, b in checking:
        validate_step(a, b)
    print('training time of the epoch', time.perf_counter() - start)
""", says="the model is evaluated"),
]  # fmt: skip


DECOYS = [
    Probe("a graph that only adds numbers of Python", "TL103", "", """
@tf.function
def plus(a, b):
    return a + b
plus(10, 20)
t = time.perf_counter()
z = plus(10, 20)
print(time.perf_counter() - t)
"""),
    Probe("a layer that was made before the clock starts", "TL108", "", """
v = tf.random.normal((8, 32, 32, 3))
layer = keras.layers.Conv2D(32, 7)
layer(v).numpy()
print(timeit.timeit(lambda: layer(v).numpy(), number=10))
"""),
    Probe("the same sizes on both devices", "TL111", "", """
for device in ('CPU', 'GPU'):
    for n in [10, 50, 100]:
        with tf.device(device):
            a = tf.ones([n, n])
            t = time.perf_counter()
            tf.matmul(a, a).numpy()
            print(device, n, time.perf_counter() - t)
"""),
    Probe("pictures that are shown as they come", "TL108", "", MODEL + """
import cv2
m = made()
camera = cv2.VideoCapture(0)
while True:
    t = time.perf_counter()
    seen, frame = camera.read()
    m.predict(frame)
    cv2.imshow('live', frame)
    print(1 / (time.perf_counter() - t))
"""),
    Probe("Hugging Face's model of PyTorch", "TL103", "", """
from transformers import AutoTokenizer, BertModel
model = BertModel.from_pretrained('bert-base-uncased')
t = time.perf_counter()
out = model(AutoTokenizer.from_pretrained('bert-base-uncased')('text'))
took = time.perf_counter() - t
"""),
    Probe("a size among others", "TL112", "", """
for side in (2, 2000):
    a = tf.ones((side, side))
    tf.matmul(a, a).numpy()
    with tf.device('/CPU:0'):
        t = time.perf_counter()
        tf.matmul(a, a).numpy()
        cpu = time.perf_counter() - t
    with tf.device('/GPU:0'):
        u = time.perf_counter()
        tf.matmul(a, a).numpy()
        gpu = time.perf_counter() - u
    print(side, cpu, gpu)
"""),
    Probe("a text is formatted and printed", "TL003", "", "print('took %f' % 1.0)\n"),
    Probe("a clock that starts after the first iteration", "TL104", "", """
f = tf.function(lambda v: v @ v)
for i in range(10):
    if i == 1:
        t = time.perf_counter()
    f(x).numpy()
print((time.perf_counter() - t) / 9)
"""),
    Probe("a delay by an empty loop", "TL106", "", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
for _ in range(5): pass
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("pytest-benchmark that waits", "TL103", "", """
f = tf.function(lambda v: v @ v)
def test_product(benchmark):
    f(x)
    benchmark(lambda: f(x).numpy())
"""),
    Probe("a module's own faults are reported in that module", "TL107", "", """
import clocks
clocks.run()
""", beside=(("clocks.py", HEAD + TENSORS + "def run():\n    t = time.time()\n    (x @ y).numpy()\n"
              "    print('GPU time', time.time() - t)\n"),)),
    Probe("a model made in the scope that is timed", "TL309", "", """
with tf.device('/CPU:0'):
    m = keras.Sequential([keras.layers.Dense(4)])
    m(x).numpy()
with tf.device('/CPU:0'):
    t = time.perf_counter()
    m(x).numpy()
    print('CPU', time.perf_counter() - t)
"""),
    Probe("arrays whose copy is said to count", "TL114", "", """
a = np.random.rand(4000, 4000).astype('float32')
with tf.device('/gpu:0'):
    tf.matmul(a, a).numpy()
    s = time.perf_counter()
    tf.matmul(a, a).numpy()
    print('GPU, with the copy', time.perf_counter() - s)
"""),
    Probe("minutes of training by an unread library's model", "TL107", "", """
import keras_cv
m = keras_cv.models.DarkNet53(classes=3)
s = time.time()
m.fit(x, y, epochs=25)
print('Elapsed', time.time() - s)
"""),
    Probe("a part of the work is called the GPU's", "TL302", "", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print(f'Training time with GPU preprocessing: {time.perf_counter() - s}')
""", head=HEAD + TENSORS),
    Probe("a clock in milliseconds", "TL115", "", """
tf.matmul(x, y).numpy()
s = int(round(time.time() * 1000))
tf.matmul(x, y).numpy()
e = int(round(time.time() * 1000))
print('took ' + str(e - s) + 'ms')
took = []
for _ in range(9):
    s = time.perf_counter()
    tf.matmul(x, y).numpy()
    took.append(time.perf_counter() - s)
print('%.1f ms' % (np.mean(took) * 1e3))
print(f'{min(took) / 0.001} ms')
"""),
    Probe("many steps in ten epochs", "TL105", "", MODEL + """
data, goal = np.zeros((60000, 8), 'float32'), np.zeros((60000, 1), 'float32')
m = made()
s = time.perf_counter()
m.fit(data, goal, epochs=10)
fit_time = time.perf_counter() - s
m.predict(data)
u = time.perf_counter()
m.predict(data)
print(fit_time / (time.perf_counter() - u))
"""),
    Probe("a product of what TFLite gave", "TL102", "", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.invoke()
t = time.perf_counter()
tf.matmul(lite.get_tensor(3), y).numpy()
print('product', time.perf_counter() - t)
"""),
    Probe("threads that are what they were", "TL009", "", """
tf.config.threading.set_intra_op_parallelism_threads(2)
z = tf.matmul(tf.ones((4, 4)), tf.ones((4, 4)))
tf.config.threading.set_intra_op_parallelism_threads(2)
""", head=HEAD),
    Probe("memory is to grow, before the first op", "TL009", "", """
for g in tf.config.list_physical_devices('GPU'):
    tf.config.experimental.set_memory_growth(g, True)
z = tf.ones((4, 4))
""", head=HEAD),
    Probe("a lesson on what is refused", "TL009", "", """
# This will raise an error: the dtypes differ.
z = tf.constant(1.0) + tf.constant(2)
"""),
    Probe("an excerpt that imports nothing", "TL008", "", """
```python
t = time.time()
print(time.time() - t)
```
""", head="", file="x.md"),
    Probe("the parts of one training, called alike", "TL107", "", MODEL + """
m = made()
start = time.time()
m.fit(data, goal, epochs=4)
print(f'Initial training time: {time.time() - start}')
start = time.time()
m.fit(data, goal, epochs=4)
print(f'Remaining training time: {time.time() - start}')
"""),
    Probe("the mean of as many as there are", "TL116", "", """
n, total = 8, 0.0
for i in range(n + 1):
    t = time.perf_counter()
    tf.matmul(x, y).numpy()
    took = time.perf_counter() - t
    if i >= 1:
        total += took
print('latency', total / n)
"""),
    Probe("one more, whose time is taken off", "TL116", "", """
n = 10
s = time.perf_counter()
tf.matmul(x, y).numpy()
one = time.perf_counter() - s
s = time.perf_counter()
for i in range(n + 1):
    tf.matmul(x, y).numpy()
all_of_them = time.perf_counter() - s
print('latency', (all_of_them - one) / n)
"""),
    Probe("with and without what a setting turns off", "TL117", "", MODEL + """
import os
m = made()
m.predict(data)
t = time.perf_counter()
m.predict(data)
print('with XLA', time.perf_counter() - t)
os.environ['TF_XLA_FLAGS'] = '--tf_xla_auto_jit=0'
t = time.perf_counter()
m.predict(data)
print('without XLA', time.perf_counter() - t)
"""),
    Probe("with and without an argument", "TL117", "", MODEL + """
m = made()
m.fit(data, goal)
t = time.perf_counter()
m.fit(data, goal, validation_data=(data, goal))
print('with validation', time.perf_counter() - t)
t = time.perf_counter()
m.fit(data, goal)
print('without validation', time.perf_counter() - t)
"""),
    Probe("the first call and the second", "TL117", "", """
f = tf.function(tf.matmul)
t = time.perf_counter()
f(x, y).numpy()
print('graph, first call', time.perf_counter() - t)
t = time.perf_counter()
f(x, y).numpy()
print('graph, second call', time.perf_counter() - t)
"""),
    Probe("called without XLA", "TL118", "", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('time without XLA', time.perf_counter() - s)
"""),
    Probe("PyTorch's GPU is asked for the loss", "TL119", "", """
import torch
net = torch.nn.Linear(8, 1).to('cuda')
rows = torch.zeros(64, 8).to('cuda')
t = time.perf_counter()
for _ in range(10):
    loss = net(rows).mean()
    last = loss.item()
print('PyTorch', time.perf_counter() - t)
"""),
    Probe("batches on both sides", "TL111", "", MODEL + """
import torch
from torch import nn
rows, wanted = torch.zeros(64, 8), torch.zeros(64, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows, wanted), batch_size=32)
net = nn.Linear(8, 1)
loss, sgd = nn.MSELoss(), torch.optim.SGD(net.parameters(), 0.01)
start = time.perf_counter()
for epoch in range(5):
    for batch, goals in loader:
        sgd.zero_grad()
        loss(net(batch), goals).backward()
        sgd.step()
print('PyTorch training time', time.perf_counter() - start)
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=5)
print('TensorFlow training time', time.perf_counter() - start)
"""),
    Probe("a training of which one op is asked of the GPU", "TL103", "", MODEL + """
w = tf.Variable(tf.zeros((8, 1)))
s = time.perf_counter()
for epoch in range(20):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean((data @ w - goal) ** 2)
    with tf.device('/GPU:0'):
        step = tape.gradient(loss, [w])
    w.assign_sub(step[0] * 0.1)
print('cost time =', time.perf_counter() - s)
"""),
    Probe("the shape that InputLayer takes", "TL002", "", """
keras.layers.InputLayer(batch_input_shape=(4, 8))
"""),
    Probe("a layer that its model has run", "TL105", "", """
one = keras.layers.Dense(8)
m = keras.Sequential([one])
m(x).numpy()
one(x).numpy()
t = time.perf_counter()
one(x).numpy()
print('took', time.perf_counter() - t)
""", head=HEAD + TENSORS),
    Probe("all the time since a loop began", "TL104", "", MODEL + """
m = made()
t = time.perf_counter()
for step in range(100):
    m.train_on_batch(data, goal)
    if step % 10 == 0:
        print('step', step, 'elapsed', time.perf_counter() - t)
"""),
    Probe("a page of TensorFlow 1.15", "TL009", "", """---
title: "Is TensorFlow 1.15 faster?"
---
```python
import tensorflow as tf
c = tf.matmul(tf.ones((4, 4)), tf.ones((4, 4)))
with tf.compat.v1.Session() as sess:
    print(sess.run(c))
```
""", head="", file="x.md"),
    Probe("enough batches to hide the start", "TL109", "", """
d = tf.data.Dataset.range(1000000)
t = time.perf_counter()
for b in d:
    pass
print('took', time.perf_counter() - t)
"""),
    Probe("devices that are set where an error is expected", "TL009", "", """
try:
    tf.config.set_visible_devices([], 'GPU')
    print(tf.config.list_logical_devices())
except RuntimeError as e:
    print(e)
"""),
    Probe("the time of building a pipeline", "TL101", "", """
start = time.perf_counter()
ds = tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * 2.0).batch(32)
print('building the pipeline took', time.perf_counter() - start)
"""),
    Probe("a pipeline that is described and gone through", "TL101", "", """
start = time.perf_counter()
for row in tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * 2.0).batch(32):
    row.numpy()
print('map took', time.perf_counter() - start)
"""),
    Probe("a graph whose signature makes a tensor of a number", "TL202", "", """
@tf.function(input_signature=[tf.TensorSpec([512, 512]), tf.TensorSpec([], tf.int32)])
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for step in range(100):
    scaled(x, step)
"""),
    Probe("validation in a log of training", "TL108", "", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=5, validation_data=(data, goal))
print('epochs done after', time.perf_counter() - start)
"""),
    Probe("nodes that a session refuses elsewhere", "TL302", "", """
import tensorflow.compat.v1 as tf1
with tf1.Graph().as_default(), tf1.device('/gpu:0'):
    a = tf1.random_uniform((512, 512))
    product = tf1.matmul(a, a)
    with tf1.Session() as sess:
        sess.run(product)
        start = time.perf_counter()
        sess.run(product)
        print(time.perf_counter() - start)
""", head=HEAD),
    Probe("devices that are chosen before they are listed", "TL310", "", """
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '1'
from tensorflow.python.client import device_lib
print(device_lib.list_local_devices())
""", head=HEAD),
    Probe("reading that is taken off again", "TL108", "", """
import cv2
m = keras.applications.MobileNetV2(weights=None)
for path in ('a.jpg', 'b.jpg'):
    start = time.perf_counter()
    img = cv2.imread(path)
    image_read_time = time.perf_counter() - start
    z = m(np.expand_dims(img, 0)).numpy()
    print('speed', 1 / (time.perf_counter() - start - image_read_time))
"""),
    Probe("the total of what is timed in parts", "TL111", "", """
parts, totals = [], []
tf.linalg.inv(x).numpy()
for _ in range(20):
    start = time.perf_counter()
    z = tf.linalg.inv(x).numpy()
    parts.append(time.perf_counter() - start)
    np.linalg.inv(z)
    totals.append(time.perf_counter() - start)
print(f'device: {np.mean(parts)}')
print(f'total: {np.mean(totals)}')
"""),
    Probe("an array that is filled", "TL108", "", MODEL + """
import cv2
m, image = made(), cv2.imread('a.png')
m.predict(data)
t = time.perf_counter()
padded = np.full((1, 2048, 2048, 3), 128.0)
padded[0, :480, :640] = image
m.predict(padded)
print(time.perf_counter() - t)
"""),
    Probe("files that are read for the first time", "TL105", "", """
t = time.perf_counter()
for name in ('a.png', 'b.png', 'c.png'):
    image = tf.io.read_file(name)
print(time.perf_counter() - t)
"""),
    Probe("Python's printing next to TensorFlow's", "TL201", "", """
@tf.function
def f(v):
    print('Python', v)
    tf.print('graph', v)
    return v * 2.0
f(x)
"""),
    Probe("first calls of one line that are single ones elsewhere", "TL104", "", """
def bench(f, n):
    t = time.perf_counter()
    f(x, y).numpy()
    print('CPU time', time.perf_counter() - t)
bench(tf.function(tf.matmul), 1)
for n in range(100, 1000, 100):
    bench(tf.function(tf.matmul), n)
"""),
    Probe("a setting that hides the GPU", "TL103", "", """
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("the time of day before and after a file is read", "TL107", "", """
import datetime
print(datetime.datetime.now(), 'before')
text = open('a.txt').read()
print(datetime.datetime.now(), 'after')
"""),
    Probe("a plot that waits for nobody", "TL108", "", MODEL + """
import matplotlib.pyplot as plt
plt.ion()
m = made()
t = time.perf_counter()
h = m.fit(data, goal, epochs=30)
plt.show()
print('elapsed time', time.perf_counter() - t)
"""),
    Probe("somebody's own ANTIALIAS, and a missing module that is expected", "TL001", "", """
from mine import Image
picture = Image.open('a.png').resize((8, 8), Image.ANTIALIAS)
try:
    from sklearn.cross_validation import train_test_split
except ImportError:
    from sklearn.model_selection import train_test_split
"""),
    Probe("samples of which the first is left out", "TL104", "", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
results = []
for _ in range(20):
    start = time.perf_counter()
    interpreter.invoke()
    results.append(time.perf_counter() - start)
print(np.mean(results[1:]))
"""),
    Probe("a handler of ValueError around the signature's own dtype", "TL005", "", """
@tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name='x')])
def cube(z):
    return tf.pow(z, 3)
try:
    print(cube(tf.constant([1, 2, 3])))
except ValueError as error:
    print(error)
"""),
    Probe("predict() for rows that are many", "TL113", "", MODEL + """
m = made()
rows = np.random.rand(10_000, 512)
m.predict(rows)
print('mean', timeit.timeit(lambda: m.predict(rows), number=10) / 10)
"""),
    Probe("metrics that are not known by name", "TL004", "", MODEL + """
m = keras.Sequential([keras.layers.Dense(4)])
m.compile('adam', 'mse', metrics=[keras.metrics.MeanSquaredError(name='acc')])
h = m.fit(data, goal)
print(h.history['acc'])
"""),
    Probe("what the host is given by a library on TensorFlow", "TL103", "", """
import tf_quant_finance as tff
t = time.perf_counter()
price = tff.black_scholes.option_price(volatilities=x).numpy()
print('GPU time', time.perf_counter() - t)
"""),
    Probe("a net that is put together", "TL103", "", """
def net(v):
    begun = time.time()
    with tf.compat.v1.variable_scope('a'):
        z = tf.nn.relu(v @ v)
    print('build model finished: %ds' % (time.time() - begun))
    return z
net(x)
"""),
    Probe("a loss that is evaluated in a step's time", "TL108", "", """
import models
net = models.Net()
sess = tf.compat.v1.Session()
for step in range(100):
    start = time.perf_counter()
    sess.run(net.train_op)
    print('training time', time.perf_counter() - start, net.cost.eval(session=sess))
    start = time.perf_counter()
    sess.run(net.train_op)
    cost = net.cost.eval(session=sess)
    print('training time', time.perf_counter() - start, cost)
"""),
]  # fmt: skip

# code whose only findings are notes
SUPPOSED = [
    Probe("a step that is not read, and nothing waits", "TL103", "took = time.perf_counter() - t", """
from mine import train_step
train_step(x)
t = time.perf_counter()
train_step(x)
took = time.perf_counter() - t
print('latency', took)
"""),
    Probe("an interpreter that somebody gives", "TL104", "t = time.perf_counter()", """
def latency(engine, given):
    t = time.perf_counter()
    for _ in range(10):
        engine.set_tensor(0, given)
        engine.invoke()
    return (time.perf_counter() - t) / 10
"""),
    Probe("an interpreter that an article leaves out", "TL105", "t = time.perf_counter()", """
```python
import tensorflow as tf
import time
# ... (the interpreter as above) ...
t = time.perf_counter()
interpreter.set_tensor(0, x)
interpreter.invoke()
print('latency', time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("an array that a model is given on the GPU", "TL114", "net(rows)", """
rows = np.random.rand(4096, 512).astype('float32')
net = keras.Sequential([keras.layers.Dense(8)])
net(rows).numpy()
t = time.perf_counter()
net(rows).numpy()
print('GPU inference', time.perf_counter() - t)
"""),
    Probe("a checkpoint that each epoch saves", "TL108", "checkpoint.save('kept')", MODEL + """
m = made()
for epoch in range(3):
    start = time.perf_counter()
    m.fit(data, goal)
    checkpoint.save('kept')
    print('Epoch', epoch, 'took', time.perf_counter() - start)
"""),
    Probe("validation in what a script's name calls a benchmark", "TL108", "validation_data", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=5, validation_data=(data, goal))
print('epochs done after', time.perf_counter() - start)
""", file="tf_benchmark.py"),
    Probe("printing next to an interpreter", "TL108", "start = time.perf_counter()", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
interpreter.invoke()
start = time.perf_counter()
for step in range(10):
    interpreter.invoke()
    print(interpreter.get_tensor(0).shape)
print(time.perf_counter() - start)
"""),
    Probe("a validation in the time that a log has", "TL108", "validation(held_out)", """
import models
net = models.Net()
sess = tf.compat.v1.Session()
def validation(feed):
    return sess.run([net.cost, net.accuracy], feed_dict=feed)
for epoch in range(50):
    start = time.perf_counter()
    sess.run([net.train_op, net.cost], feed_dict=batch)
    cost, accuracy = validation(held_out)
    print('epoch', epoch, 'cost', cost, 'time', time.perf_counter() - start)
""", says="evaluated by validation()"),
]  # fmt: skip


def test_every_name_is_a_probe_of_its_own():
    every = PROBES + SUPPOSED + DECOYS
    assert len({p.name for p in every}) == len(every)


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.name)
def test_fault_is_reported_on_its_line(probe):
    told = found(probe)
    assert [m for code, line, m in told if code == probe.code and probe.at in line and probe.says in m], told


@pytest.mark.parametrize("probe", SUPPOSED, ids=lambda p: p.name)
def test_an_assumption_gives_only_a_note(probe):
    told = found(probe, notes=True)
    assert [m for code, line, m in told if code == probe.code and probe.at in line and probe.says in m], told


@pytest.mark.parametrize("probe", DECOYS, ids=lambda p: p.name)
def test_similar_correct_code_gets_no_finding(probe):
    assert not [line for code, line, _ in found(probe) if code == probe.code]
