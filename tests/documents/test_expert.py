"""What an expert sees in other people's benchmarks: eighty mistakes, and thirty-five similar cases that
are correct.
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
    """A benchmark; `code` is the finding at the default level on the line that holds `at`, "" for none of that kind."""

    name: str
    code: str
    at: str
    text: str
    head: str = HEAD + SEEN + TENSORS
    file: str = "x.py"
    says: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    """Names and texts of other files in its folder."""


def found(probe: Probe, notes: bool = False) -> list[tuple[str, str, str]]:
    """The code, the line's text and the message of each finding at the default level, or of each note."""
    with TemporaryDirectory() as folder:
        for name, text in ((probe.file, probe.head + probe.text), *probe.beside):
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_text(text)
        report = read(Path(folder, probe.file), shipped(), preview=False)
    findings = [f for e in report.examples for f in e.findings if (f.severity == "note") is notes]
    return [(f.code, report.lines[line - 1], f.message) for f in findings for line in (f.line, *f.also)]


PROBES = [
    # What counts as a training log.
    Probe("two labelled trainings", "TL105", "start = time.perf_counter()", MODEL + """
start = time.perf_counter()
made().fit(data, goal, epochs=4)
plain = time.perf_counter() - start
start = time.perf_counter()
made().fit(data, goal, epochs=4)
cached = time.perf_counter() - start
print('without cache', plain, 'with cache', cached)
"""),
    Probe("a training for each device", "TL105", "begin = time.perf_counter()", MODEL + """
took = {}
for device in ('/CPU:0', '/GPU:0'):
    begin = time.perf_counter()
    with tf.device(device):
        made().fit(data, goal, epochs=3)
    took[device] = time.perf_counter() - begin
print(took)
"""),
    Probe("a ratio of two trainings", "TL105", "s = time.perf_counter()", MODEL + """
s = time.perf_counter()
made().fit(data, goal, epochs=5)
one = time.perf_counter() - s
u = time.perf_counter()
made().fit(data, goal, epochs=5)
two = time.perf_counter() - u
print(one / two)
"""),
    # Totals with different counts.
    Probe("the ratio of two totals of unlike counts", "TL111", "u = time.perf_counter()", """
tf.matmul(x, y).numpy()
t = time.perf_counter()
for _ in range(10):
    z = tf.matmul(x, y)
z.numpy()
cpu = time.perf_counter() - t
u = time.perf_counter()
for _ in range(5):
    z = tf.matmul(x, y)
z.numpy()
gpu = time.perf_counter() - u
print(cpu / gpu)
"""),
    Probe("trainings of unlike epochs", "TL111", "u = time.perf_counter()", MODEL + """
t = time.perf_counter()
made().fit(data, goal, epochs=10)
one = time.perf_counter() - t
u = time.perf_counter()
made().fit(data, goal, epochs=5)
two = time.perf_counter() - u
print('eager', one, 'graph', two)
"""),
    Probe("early stopping in a comparison", "TL111", "u = time.perf_counter()", MODEL + """
stop = keras.callbacks.EarlyStopping(patience=2)
t = time.perf_counter()
made().fit(data, goal, epochs=10, callbacks=[stop])
one = time.perf_counter() - t
u = time.perf_counter()
made().fit(data, goal, epochs=10, callbacks=[stop])
two = time.perf_counter() - u
print('cpu', one, 'gpu', two)
"""),
    # Words instead of calls.
    Probe("warming that is the globe's", "TL105", "t = time.perf_counter()", """
# Global warming data
f = tf.function(lambda v: v @ v)
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a warm-up still to be written", "TL105", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
# TODO: no warm-up yet
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a warm-up of another function", "TL105", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
g = tf.function(lambda v: v + v)
g(x)  # warm up
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a function named for the cold", "TL105", "t = time.perf_counter()", """
def cold_storage(v):
    return v @ v
f = tf.function(cold_storage)
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("version 1 in a comment", "TL103", "took", """
# tf.compat.v1.disable_eager_execution() is not needed any more
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("version 1 on a condition", "TL103", "took", """
import os
if os.environ.get('OLD'):
    tf.compat.v1.disable_eager_execution()
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("a warm-up that passes", "TL106", "for _ in range(5)", """
f = tf.function(lambda v: v @ v)
for _ in range(5): pass  # warm-up
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    # Followed code.
    Probe("start and end are a helper's", "TL103", "end = time.perf_counter()", """
def show(start, end):
    total = end - start
    print(f'{total:.3f} s')
    return total
tf.matmul(x, y).numpy()
start = time.perf_counter()
z = tf.matmul(x, y)
end = time.perf_counter()
show(start, end)
"""),
    Probe("a method of a strategy", "TL103", "took", """
strategy = tf.distribute.MirroredStrategy()
@tf.function
def step(v):
    return v @ v
strategy.run(step, args=(x,)).numpy()
t = time.perf_counter()
strategy.run(step, args=(x,))
took = time.perf_counter() - t
"""),
    Probe("a function object's own method", "TL103", "took", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
f.__call__(x)
took = time.perf_counter() - t
"""),
    Probe("a model called for inference", "TL103", "took", """
model = keras.applications.ResNet50()
model(x).numpy()
t = time.perf_counter()
model(x, training=False)
took = time.perf_counter() - t
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
    Probe("a name in a lambda that nothing calls", "TL001", "lfiltr", """
jobs = register(lambda v: tf.signal.lfiltr(v))
"""),
    Probe("one helper that times two functions", "TL104", "t1 = time.perf_counter()", """
def bench(call):
    t1 = time.perf_counter()
    for _ in range(10):
        z = call(x)
    z.numpy()
    return time.perf_counter() - t1
@tf.function
def squared(v):
    return v @ v
@tf.function
def doubled(v):
    return v + v
print(bench(squared))
print(bench(doubled))
""", says="squared, doubled"),
    Probe("pytest-benchmark", "TL103", "benchmark(", """
f = tf.function(lambda v: v @ v)
def test_product(benchmark):
    f(x)
    benchmark(f, x)
"""),
    Probe("%timeit with nothing on its line", "TL101", "%timeit", """
%timeit
tf.matmul(x, y)
""", file="x.ipy"),
    Probe("%timeit of one run with nothing on its line", "TL101", "%timeit", """
%timeit -n1 -r1
tf.matmul(x, y)
""", file="x.ipy"),
    Probe("NumPy's arrays in TensorFlow's product", "TL105", "t = time.perf_counter()", """
a, b = np.random.rand(300, 300), np.random.rand(300, 300)
t = time.perf_counter()
c = tf.matmul(a, b).numpy()
print(time.perf_counter() - t)
""", head=HEAD + SEEN),
    Probe("%timeit of one run", "TL105", "%timeit -n 1 -r 1", """
f = tf.function(lambda v: v @ v)
%timeit -n 1 -r 1 f(x).numpy()
""", file="x.ipy"),
    Probe("a session's first run after its graph has grown", "TL105", "t = time.perf_counter()", """
a = tf.compat.v1.placeholder(tf.float32, (64, 64))
p = tf.matmul(a, a)
with tf.compat.v1.Session() as sess:
    sess.run(p, {a: np.zeros((64, 64))})
    q = tf.exp(p)
    t = time.perf_counter()
    sess.run(p, {a: np.zeros((64, 64))})
    print(time.perf_counter() - t)
""", head=HEAD),
    Probe("building nodes is not computing", "TL101", "t = time.perf_counter()", """
tf.compat.v1.disable_eager_execution()
a = tf.random.normal((64, 64))
t = time.perf_counter()
p = tf.matmul(a, a)
print(time.perf_counter() - t)
""", head=HEAD),
    Probe("a warm-up that still runs", "TL103", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
f(x)
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a thousand tiny calls on a GPU", "TL104", "t = time.perf_counter()", """
small = tf.ones((4, 4))
with tf.device('/GPU:0'):
    t = time.perf_counter()
    for _ in range(1000):
        z = tf.cumsum(small)
    z.numpy()
    print(time.perf_counter() - t)
"""),
    Probe("what is done once stands beside the training", "TL108", "m.save", MODEL + """
m = made()
m.fit(data, goal)
t = time.perf_counter()
with tf.device('/GPU:0'):
    m.fit(data, goal)
    m.save('m.keras')
print('GPU', time.perf_counter() - t)
"""),
    Probe("a session is made while the clock runs", "TL108", "with tf.compat.v1.Session()", """
a = tf.compat.v1.placeholder(tf.float32, (64, 64))
p = tf.matmul(a, a)
t = time.perf_counter()
with tf.compat.v1.Session() as sess:
    sess.run(p, {a: np.zeros((64, 64))})
print(time.perf_counter() - t)
""", head=HEAD),
    Probe("an argument of Keras 2", "TL002", "lr=0.1", "best = keras.optimizers.Adam(lr=0.1)\n"),
    Probe("a metric's method of Keras 2", "TL001", "reset_states", """
mean = keras.metrics.Mean()
mean.update_state(1.0)
mean.reset_states()
"""),
    # Modules of the same folder.
    Probe("a helper of a module in the folder", "TL103", "bench(f, x)", """
from timing import bench
f = tf.function(lambda v: v @ v)
f(x).numpy()
print(bench(f, x))
""", beside=(TIMING,), says="timing.py"),
    Probe("a helper of a module, and nothing warmed", "TL104", "timing.waits(f, x)", """
import timing
f = tf.function(lambda v: v @ v)
print(timing.waits(f, x))
""", beside=(TIMING,)),
    Probe("a timer of a module for a with", "TL103", "tf.matmul(x, y)", """
from timing import timer
tf.matmul(x, y).numpy()
with timer('product'):
    tf.matmul(x, y)
""", beside=(TIMING,)),
    Probe("a timer's class of a module", "TL105", "with Watch() as watch", """
from timing import Watch
f = tf.function(lambda v: v @ v)
with Watch() as watch:
    f(x).numpy()
print(watch.took)
""", beside=(TIMING,)),
    Probe("a decorator of a module", "TL103", "product(x)", """
from timing import timed
@timed
def product(v):
    return tf.matmul(v, v)
tf.matmul(x, x).numpy()
product(x)
""", beside=(TIMING,)),
    Probe("a graph of a package's module", "TL105", "t = time.perf_counter()", """
from ops import products
t = time.perf_counter()
products.squared(x).numpy()
print(time.perf_counter() - t)
""", beside=(
        ("ops/__init__.py", ""),
        ("ops/products.py", "import tensorflow as tf\n@tf.function\ndef squared(v):\n    return v @ v\n"),
    )),
    Probe("a model of a module", "TL108", "m = made()", """
from models import made
t = time.perf_counter()
m = made()
m.fit(np.zeros((64, 8)), np.zeros((64, 1)))
print('images per second', 64 / (time.perf_counter() - t))
""", beside=(("models.py", HEAD + MODEL),)),
    Probe("start and end go to a helper of a module", "TL103", "end = time.perf_counter()", """
from show import show
tf.matmul(x, y).numpy()
start = time.perf_counter()
z = tf.matmul(x, y)
end = time.perf_counter()
show(start, end, device='GPU')
""", beside=(("show.py", "def show(start, end, device):\n    print(device, end - start)\n"),)),
    Probe("start and end go to a helper that is not shown", "TL103", "end = time.perf_counter()", """
from helper_functions import print_train_time
tf.matmul(x, y).numpy()
start = time.perf_counter()
z = tf.matmul(x, y)
end = time.perf_counter()
print_train_time(start=start, end=end)
"""),
    Probe("the end is read where the helper is called", "TL103", "show(start, time.perf_counter())", """
def show(start, end):
    print(f'{end - start:.3f} s')
tf.matmul(x, y).numpy()
start = time.perf_counter()
z = tf.matmul(x, y)
show(start, time.perf_counter())
"""),
    Probe("a lap kept in an object", "TL103", "self.took = ", """
class Lap:
    def begin(self):
        self.start = time.perf_counter()
    def end(self):
        self.took = time.perf_counter() - self.start
lap = Lap()
tf.matmul(x, y).numpy()
lap.begin()
z = tf.matmul(x, y)
lap.end()
print(lap.took)
"""),
    Probe("a strategy's run of a step, first", "TL104", "t = time.perf_counter()", """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    m = keras.Sequential([keras.layers.Dense(4)])
@tf.function
def step(v):
    return strategy.run(lambda w: m(w), args=(v,))
t = time.perf_counter()
for _ in range(20):
    z = step(x)
print(z.numpy(), time.perf_counter() - t)
"""),
    Probe("a model's train_on_batch, first", "TL104", "t = time.perf_counter()", MODEL + """
m = made()
t = time.perf_counter()
for _ in range(20):
    m.train_on_batch(data, goal)
print('per second', 20 / (time.perf_counter() - t))
"""),
    Probe("a model's predict_on_batch, first", "TL105", "t = time.perf_counter()", MODEL + """
m = made()
t = time.perf_counter()
m.predict_on_batch(data)
print('latency', time.perf_counter() - t)
"""),
    Probe("a model's predict, handed to a helper", "TL104", "t1 = time.perf_counter()", MODEL + """
def bench(call, given):
    t1 = time.perf_counter()
    for _ in range(10):
        call(given)
    return (time.perf_counter() - t1) / 10
print(bench(made().predict, data))
"""),
    Probe("a loaded model is called", "TL103", "took", """
model = keras.models.load_model('m.keras')
model(x).numpy()
t = time.perf_counter()
model(x)
took = time.perf_counter() - t
"""),
    Probe("a saved model's signature", "TL103", "took", """
infer = tf.saved_model.load('m').signatures['serving_default']
infer(x)['out'].numpy()
t = time.perf_counter()
infer(x)
took = time.perf_counter() - t
"""),
    Probe("a concrete function", "TL103", "took", """
f = tf.function(lambda v: v @ v).get_concrete_function(tf.TensorSpec((512, 512), tf.float32))
f(x).numpy()
t = time.perf_counter()
f(x)
took = time.perf_counter() - t
"""),
    Probe("a partial of a graph", "TL103", "took", """
import functools
f = functools.partial(tf.function(lambda v, w: v @ w), x)
f(y).numpy()
t = time.perf_counter()
f(y)
took = time.perf_counter() - t
"""),
    Probe("functions in a table", "TL103", "took", """
jobs = {'plain': lambda v: v @ v, 'graph': tf.function(lambda v: v @ v)}
for name, job in jobs.items():
    job(x).numpy()
    t = time.perf_counter()
    job(x)
    took = time.perf_counter() - t
    print(name, took)
"""),
    Probe("a lambda that timeit calls", "TL103", "timeit.timeit(lambda", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
print('GPU', timeit.timeit(lambda: f(x), number=100))
"""),
    Probe("a lambda that nothing calls", "TL103", "took =", """
jobs.append(lambda: run())
def run():
    tf.matmul(x, y).numpy()
    t = time.perf_counter()
    z = tf.matmul(x, y)
    took = time.perf_counter() - t
    return took
"""),
    Probe("the third of three regions of one function", "TL103", "third =", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
f(x)
first = time.perf_counter() - t
t = time.perf_counter()
f(x)
second = time.perf_counter() - t
t = time.perf_counter()
f(x)
third = time.perf_counter() - t
"""),
    Probe("pedantic of one round", "TL105", "benchmark.pedantic", """
f = tf.function(lambda v: v @ v)
def test_product(benchmark):
    benchmark.pedantic(lambda: f(x).numpy(), rounds=1, iterations=1)
"""),
    Probe("pytest-benchmark in a class", "TL103", "benchmark(f, x)", """
f = tf.function(lambda v: v @ v)
class TestProducts:
    def test_product(self, benchmark):
        f(x)
        benchmark(f, x)
"""),
    Probe("a cell's %%timeit of one run", "TL105", "%%timeit -n1 -r1", """%%timeit -n1 -r1
f = tf.function(lambda v: v @ v)
f(tf.ones((512, 512))).numpy()
""", head="", file="x.ipy"),
    Probe("%timeit of one run whose result is kept", "TL105", "%timeit -r 1 -n 1", """
f = tf.function(lambda v: v @ v)
took = %timeit -r 1 -n 1 -o f(x).numpy()
""", file="x.ipy"),
    Probe("%timeit waits for nothing", "TL103", "%timeit f(x)", """
f = tf.function(lambda v: v @ v)
f(x)
%timeit f(x)
""", file="x.ipy"),
    Probe("a session's first run", "TL105", "start = time.time()", """
a = tf.random_normal((64, 64))
p = tf.matmul(a, a)
with tf.Session() as sess:
    start = time.time()
    sess.run(p)
    print(time.time() - start)
""", head=HEAD),
    Probe("a session's loop, its first run within", "TL104", "start = time.time()", """
a = tf.random_normal((64, 64))
p = tf.matmul(a, a)
sess = tf.Session()
start = time.time()
for _ in range(20):
    sess.run(p)
print((time.time() - start) / 20)
""", head=HEAD),
    Probe("variables are initialised while the clock runs", "TL108", "sess.run(init)", """
w = tf.Variable(tf.random_normal((64, 64)))
p = tf.matmul(w, w)
init = tf.global_variables_initializer()
with tf.Session() as sess:
    start = time.time()
    sess.run(init)
    sess.run(p)
    print(time.time() - start)
""", head=HEAD),
    Probe("a warm-up loop that still runs", "TL103", "t = time.perf_counter()", """
f = tf.function(lambda v: v @ v)
for _ in range(5):
    f(x)
t = time.perf_counter()
for _ in range(5):
    z = f(x)
z.numpy()
print(time.perf_counter() - t)
"""),
    Probe("a thousand tiny calls, on whatever device", "TL104", "t = time.perf_counter()", """
small = tf.ones((4, 4))
t = time.perf_counter()
for _ in range(1000):
    z = tf.cumsum(small)
z.numpy()
print('GPU time', time.perf_counter() - t)
"""),
    # From real documents.
    Probe("a counter's condition waits for nothing", "TL103", "took =", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
step = 0
for v in tf.data.Dataset.from_tensors(x).repeat(8):
    t = time.perf_counter()
    f(v)
    step += 1
    if step % 2 == 0:
        took = time.perf_counter() - t
        print('images per second', 1 / took)
"""),
    Probe("a model that was loaded", "TL105", "t = time.perf_counter()", """
m = keras.models.load_model('m.keras')
t = time.perf_counter()
m.predict(np.zeros((64, 8)))
print('prediction took', round(time.perf_counter() - t, 6))
"""),
    Probe("fit does not warm predict", "TL105", "t = time.perf_counter()", MODEL + """
m = made()
m.fit(data, goal)
t = time.perf_counter()
m.predict(data)
print('latency', time.perf_counter() - t)
"""),
    Probe("a session that is made while the clock runs is cold", "TL104", "start = time.perf_counter()", """
def infer(graph, inputs):
    start = time.perf_counter()
    with tf.compat.v1.Session(graph=graph) as sess:
        out = graph.get_tensor_by_name('output:0')
        for given in inputs:
            sess.run(out, {'input:0': given})
    return (time.perf_counter() - start) / len(inputs)
""", head=HEAD),
    Probe("the mean of TFLite's calls, the first among them", "TL104", "t = time.perf_counter()", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
times = []
for _ in range(100):
    lite.set_tensor(0, np.zeros((1, 8), 'float32'))
    t = time.perf_counter()
    lite.invoke()
    times.append(time.perf_counter() - t)
print(sum(times) / len(times))
"""),
    Probe("the mean of rounded times", "TL104", "t = time.perf_counter()", """
times = []
for i in range(10):
    t = time.perf_counter()
    for _ in range(5):
        z = x @ y
    z.numpy()
    took = round(time.perf_counter() - t, 3)
    times.append(took)
print(sum(times) / len(times))
"""),
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
    Probe("a generator's numbers are not awaited", "TL103", "b = time.perf_counter()", """
g = tf.random.Generator.from_seed(42)
g.normal((512, 512)).numpy()
a = time.perf_counter()
for _ in range(150):
    g.normal((512, 512))
b = time.perf_counter()
print(b - a)
"""),
    Probe("the GPU is hidden in a comment only", "TL103", "took", """
# os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("an op of another dtype warms nothing", "TL105", "t = time.perf_counter()", """
tf.matmul([[1]], [[2, 3]])
t = time.perf_counter()
tf.matmul(x, y).numpy()
print(time.perf_counter() - t)
"""),
    Probe("the first thing that TensorFlow does", "TL105", "t = time.perf_counter()", """
with tf.device('/CPU:0'):
    t = time.perf_counter()
    print(tf.eye(2, 2))
    print(time.perf_counter() - t)
""", head=HEAD),
    Probe("the set-up stands in another cell", "TL108", "t = time.perf_counter()", json.dumps({
        "nbformat": 4,
        "metadata": {},
        "cells": [
            {"cell_type": "code", "source": HEAD + MODEL},
            {"cell_type": "code", "source": "t = time.perf_counter()\nmade().fit(data, goal)\n"
             "print('images per second', 64 / (time.perf_counter() - t))\n"},
        ],
    }), head="", file="x.ipynb"),
    # Names that nothing defines, and methods that no class has.
    Probe("a name spelled otherwise than it is defined", "TL008", "z = tf.matmul(X, y)", "z = tf.matmul(X, y)\n"),
    Probe("a method without self", "TL008", "return self.model", """
class Bench:
    def __init__(self):
        self.model = keras.Sequential([keras.layers.Dense(1)])
    def step(batch):
        return self.model(batch)
"""),
    Probe("a function that is commented out", "TL008", "bench()", "# def bench():\n#     pass\nbench()\n"),
    Probe("a cell's name that no cell defines", "TL008", "print(took)", json.dumps({
        "nbformat": 4,
        "metadata": {},
        "cells": [
            {"cell_type": "code", "source": HEAD + "%matplotlib inline\n"},
            {"cell_type": "code", "source": "print(took)\n"},
        ],
    }), head="", file="x.ipynb"),
    Probe("the old run of a strategy that is given", "TL001", "experimental_run_v2", """
class Bench:
    def __init__(self, strategy=None):
        self.strategy = strategy
    def step(self, batch):
        return self.strategy.experimental_run_v2(tf.square, args=(batch,))
"""),
    Probe("the old run of a strategy that is made", "TL001", "experimental_run_v2", """
mirrored = tf.distribute.MirroredStrategy()
mirrored.experimental_run_v2(tf.square, args=(x,))
"""),
    Probe("a generator given to a model that is given", "TL001", "fit_generator", """
def train(model, batches):
    model.fit_generator(batches)
"""),
    Probe("a name in a branch that is not taken", "TL001", "tf.keras.mixed_precision.experimental", """
def main(mixed):
    if mixed:
        tf.keras.mixed_precision.experimental.set_policy('mixed_float16')
main(False)
"""),
    Probe("an old argument of Keras under TensorFlow's own name", "TL002", "tf.optimizers.Adam", """
optimizer = tf.optimizers.Adam(lr=0.001)
"""),
    Probe("a SavedModel's signature is not awaited", "TL103", "took", """
infer = tf.saved_model.load('m').signatures['serving_default']
infer(x)['output'].numpy()
t = time.perf_counter()
out = infer(x)
took = time.perf_counter() - t
"""),
    Probe("a hub's model is not awaited", "TL103", "took", """
import tensorflow_hub as hub
model = hub.load('https://example.org/model')
print(model(x))
t = time.perf_counter()
out = model(x)
took = time.perf_counter() - t
"""),
    Probe("a layer of Keras' further libraries is not awaited", "TL103", "took", """
from keras_cv.layers import AutoContrast
layer = AutoContrast(value_range=(0, 1))
print(layer(x))
t = time.perf_counter()
out = layer(x)
took = time.perf_counter() - t
"""),
    Probe("Hugging Face's model of TensorFlow is not awaited", "TL103", "took", """
from transformers import TFBertModel
model = TFBertModel.from_pretrained('bert-base-uncased')
print(model(x))
t = time.perf_counter()
out = model(x)
took = time.perf_counter() - t
"""),
    Probe("a length that is asked for while the clock runs", "TL105", "t = time.perf_counter()", """
from data import batches
m = keras.Sequential([keras.layers.Dense(1)])
m.compile('sgd', 'mse')
t = time.perf_counter()
m.fit(batches, steps_per_epoch=len(batches))
print('images per second', 64 / (time.perf_counter() - t))
"""),
    Probe("an op of Keras' backend is not awaited", "TL103", "took", """
from tensorflow.keras import backend as K
K.dot(x, y).numpy()
t = time.perf_counter()
z = K.dot(x, y)
took = time.perf_counter() - t
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
    Probe("a tensor's eval() is a session's run", "TL105", "t = time.perf_counter()", """
fast = tf.linalg.lstsq(x, y)
with tf.Session():
    t = time.perf_counter()
    fast.eval()
    print(time.perf_counter() - t)
"""),
    Probe("Keras in TensorFlow's own packages", "TL103", "end = time.perf_counter()", """
from tensorflow.python.keras.applications import VGG16
vgg = VGG16(weights=None)
vgg(x)
times = []
for batch in [x, y]:
    begin = time.perf_counter()
    vgg(batch)
    end = time.perf_counter()
    times.append(end - begin)
print('latency', sum(times))
"""),
    Probe("a model made elsewhere trains for the first time", "TL105", "t = time.perf_counter()", """
from models import build
net = build()
t = time.perf_counter()
net.fit(x, y, batch_size=64)
print('images per second', 512 / (time.perf_counter() - t))
"""),
    Probe("the sum of times under a condition", "TL104", "start = time.perf_counter()", MODEL + """
from faces import button
def bench():
    m = made()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        m.fit(data, goal, epochs=1)
        times.append(time.perf_counter() - start)
    return sum(times)
if button('run the benchmark'):
    print('CPU', bench())
"""),
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
    Probe("Python 2 prints", "TL105", "t = time.perf_counter()", """
t = time.perf_counter()
z = tf.matmul(x, y).numpy()
print "GPU", time.perf_counter() - t  # seconds
"""),
    Probe("print's result is formatted", "TL003", "print ('took %f')", "took = 1.0\nprint ('took %f') % took\n"),
    Probe("a plot is drawn while the clock runs", "TL108", "plt.plot", MODEL + """
import matplotlib.pyplot as plt
t = time.perf_counter()
history = made().fit(data, goal)
plt.plot(history.history['loss'])
print('images per second', 64 / (time.perf_counter() - t))
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
    Probe("PyTorch multiplies what TensorFlow's product is compared with", "TL111", "u = time.perf_counter()", """
import torch
a = torch.rand([5000, 5000])
b = tf.convert_to_tensor(a.numpy())
tf.matmul(b, b).numpy()
t = time.perf_counter()
for _ in range(100):
    a = a * a
t_torch = time.perf_counter() - t
print('Torch time', t_torch)
u = time.perf_counter()
for _ in range(100):
    b = b @ b
b.numpy()
t_tf = time.perf_counter() - u
print('Tensorflow time', t_tf)
"""),
    # Not reported at all.
    Probe("an item of a tensor is assigned", "TL003", "z[0]", "z = tf.zeros((3,))\nz[0] = 1.0\n"),
    Probe("a model made outside of the scope that is timed", "TL309", "with tf.device('/CPU:0')", """
m = keras.Sequential([keras.layers.Dense(4)])
m(x).numpy()
with tf.device('/CPU:0'):
    t = time.perf_counter()
    m(x).numpy()
    print('CPU', time.perf_counter() - t)
"""),
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
    Probe("timeit on a GPU waits for nothing", "TL103", "timeit.timeit(OnGpu", """
with tf.device('/GPU:0'):
    a = tf.random.normal((256, 256))
class OnGpu:
    def __call__(self):
        with tf.device('/GPU:0'):
            return tf.matmul(a, a)
OnGpu()()
print('GPU', timeit.timeit(OnGpu(), number=10))
"""),
    # What code that is not read means, by its name and use.
    Probe("a wait where another way is taken", "TL103", "took = time.perf_counter()", """
import sys
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
if len(sys.argv) > 1:
    z = f(x)
else:
    z = f(x).numpy()
took = time.perf_counter() - t
print('GPU', took)
"""),
    Probe("a model of a module that is not there", "TL103", "took = time.perf_counter()", """
from nets import build_model
net = build_model(classes=10)
net(x).numpy()
t = time.perf_counter()
for _ in range(20):
    z = net(x)
took = time.perf_counter() - t
print('latency', took / 20)
"""),
    Probe("a parameter that is called as models are", "TL103", "took = time.perf_counter()", """
def latency(backbone, images):
    backbone(images, training=False).numpy()
    t = time.perf_counter()
    z = backbone(images, training=False)
    took = time.perf_counter() - t
    return took
"""),
    Probe("a model that a condition decides on", "TL105", "t = time.perf_counter()", MODEL + """
import sys
m = made() if len(sys.argv) > 1 else keras.Sequential([keras.layers.Dense(1)])
if len(sys.argv) > 2:
    m = made()
m.compile('sgd', 'mse')
t = time.perf_counter()
m.predict(data)
print('images per second', 64 / (time.perf_counter() - t))
"""),
    Probe("a function that nothing calls and that makes its model", "TL105", "t = time.perf_counter()", MODEL + """
def speed():
    m = made()
    t = time.perf_counter()
    m.predict(data)
    print('images per second', 64 / (time.perf_counter() - t))
"""),
    Probe("a timer of a module that is not there", "TL103", "z = tf.matmul", """
from utils import Timer
tf.matmul(x, y).numpy()
with Timer('GPU'):
    z = tf.matmul(x, y)
"""),
    Probe("an image is read while the clock runs", "TL108", "load_img", MODEL + """
m = keras.applications.MobileNetV2()
m.predict(np.zeros((1, 224, 224, 3)))
t = time.perf_counter()
image = keras.utils.load_img('cat.jpg', target_size=(224, 224))
m.predict(np.expand_dims(keras.utils.img_to_array(image), 0))
print('inference', time.perf_counter() - t)
"""),
    Probe("data of a module that is not there is read", "TL108", "load_data()", MODEL + """
from loader import load_data
m = made()
m.fit(data, goal)
t = time.perf_counter()
rows = load_data()
m.fit(rows, goal)
print('images per second', 64 / (time.perf_counter() - t))
"""),
    Probe("NumPy's data beside NumPy's product", "TL108", "np.random.normal", """
t = time.perf_counter()
z = np.dot(np.random.normal(size=(512, 512)), np.ones((512, 512)))
numpy_time = time.perf_counter() - t
t = time.perf_counter()
tf.matmul(x, y).numpy()
print('numpy', numpy_time, 'tf', time.perf_counter() - t)
"""),
    Probe("predict() for one image at a time", "TL113", "predict", MODEL + """
m = made()
one = np.zeros((1, 8))
m.predict(one)
times = []
for _ in range(50):
    t = time.perf_counter()
    m.predict(one)
    times.append(time.perf_counter() - t)
print('latency', sum(times) / 50)
"""),
    Probe("predict() for an image of known size", "TL113", "predict", """
m = keras.applications.MobileNetV2()
image = keras.utils.load_img('cat.jpg', target_size=(224, 224))
rows = np.expand_dims(keras.utils.img_to_array(image), 0)
rows = keras.applications.mobilenet_v2.preprocess_input(rows)
for trial in range(5):
    t = time.perf_counter()
    m.predict(rows)
    print('inference', trial, time.perf_counter() - t)
"""),
    Probe("predict() where another way is taken", "TL113", "predict", MODEL + """
m = made()
one = np.zeros((1, 8))
times = []
for _ in range(50):
    t = time.perf_counter()
    if tf.__version__ > '2.4':
        z = m(one)
    else:
        z = m.predict(one)
    times.append(time.perf_counter() - t)
print('latency', sum(times) / 50)
"""),
    Probe("two epochs where speed is meant", "TL105", "t = time.perf_counter()", MODEL + """
m = made()
t = time.perf_counter()
m.fit(data, goal, epochs=2)
print(time.perf_counter() - t)
""", head="# Training speed, CPU vs GPU\n" + HEAD),
    Probe("one figure of one call", "TL107", "t = time.time()", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.time()
f(x).numpy()
print(time.time() - t)
"""),
    Probe("a graph made anew after each epoch", "TL202", "@tf.function", """
class Times(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        @tf.function
        def mean(v):
            return tf.reduce_mean(v)
        print(mean(x).numpy())
"""),
    Probe("a training by the processor's clock", "TL107", "t = time.process_time()", MODEL + """
m = made()
t = time.process_time()
m.fit(data, goal, epochs=40)
print('epochs took', time.process_time() - t)
"""),
    Probe("a name of a function's own, used outside", "TL008", "print(kept.shape)", """
def make():
    kept = tf.ones(3)
    return kept
make()
print(kept.shape)
"""),
    Probe("an optimizer that Keras 3 left out", "TL001", "legacy", "best = tf.keras.optimizers.legacy.SGD(0.1)\n"),
    Probe("the rate of an optimizer by its old name", "TL001", "optimizer.lr", """
class Rate(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(float(self.model.optimizer.lr))
"""),
    Probe("times that are kept in a table of rows", "TL104", "t = time.perf_counter()", MODEL + """
rows = []
m = made()
for trial in range(200):
    t = time.perf_counter()
    m.predict(data)
    rows.append({'trial': trial, 'seconds': time.perf_counter() - t})
print(rows)
"""),
    # Labels of a time, in any form of text.
    Probe("a label that is joined to the time's text", "TL302", "s = time.perf_counter()", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('GPU time: ' + str(round(time.perf_counter() - s, 3)) + ' s')
""", head=HEAD + TENSORS),
    Probe("a label on the line before the time", "TL302", "s = time.perf_counter()", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
took = time.perf_counter() - s
print('on the GPU:')
print(took)
""", head=HEAD + TENSORS),
    Probe("a label that is a key", "TL302", "s = time.perf_counter()", """
results = {}
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
results['GPU'] = time.perf_counter() - s
""", head=HEAD + TENSORS),
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
    Probe("one batch predicted for its time alone", "TL113", "m.predict(window)", """
m = keras.models.load_model('m.keras')
window = np.ones((1, 50, 5), 'float32')
while True:
    s = time.perf_counter()
    m.predict(window)
    print(time.perf_counter() - s)
"""),
    Probe("a plot in the time of a long training", "TL108", "plt.show()", MODEL + """
import matplotlib.pyplot as plt
def benchmark():
    m = made()
    s = time.perf_counter()
    m.fit(data, goal, epochs=20)
    plt.show()
    print(time.perf_counter() - s)
benchmark()
"""),
    Probe("tested in the training's time", "TL108", "m.evaluate", MODEL + """
def benchmark():
    m = made()
    s = time.perf_counter()
    m.fit(data, goal, epochs=20)
    m.evaluate(data, goal)
    print('training took ' + str(time.perf_counter() - s))
benchmark()
"""),
    # What an unread name is, by what is done with it.
    Probe("a model of an unread module predicts", "TL113", "m.predict(window)", """
from nets import small
m = small()
window = np.ones((1, 50, 5), 'float32')
m.predict(window)
took = []
for _ in range(9):
    s = time.perf_counter()
    y = m.predict(window)
    took.append(time.perf_counter() - s)
print(np.mean(took))
"""),
    Probe("what is asserted to be a model", "TL103", "took = time.perf_counter() - s", """
from zoo import NAMES
m = NAMES['small']()
assert isinstance(m, tf.keras.Model)
m(x)
s = time.perf_counter()
for _ in range(100):
    m(x)
took = time.perf_counter() - s
print('throughput', 100 / took)
"""),
    Probe("a session is known by what it is fed", "TL104", "s = time.perf_counter()", """
import loading
sess, out, given = loading.opened()
s = time.perf_counter()
for _ in range(50):
    sess.run(out, feed_dict={given: np.zeros((1, 8))})
print('average', (time.perf_counter() - s) / 50)
"""),
    Probe("checkpoints in the time of a benchmark", "TL108", "m.fit", MODEL + """
def benchmark():
    m = made()
    keeps = keras.callbacks.ModelCheckpoint('w.keras')
    s = time.perf_counter()
    m.fit(data, goal, epochs=20, callbacks=[keeps])
    print(time.perf_counter() - s)
benchmark()
"""),
    Probe("five epochs of a benchmark", "TL105", "s = time.perf_counter()", MODEL + """
def benchmark():
    m = made()
    s = time.perf_counter()
    m.fit(data, goal, epochs=5)
    print(time.perf_counter() - s)
benchmark()
"""),
    Probe("a function whose variables are frozen", "TL103", "took = time.perf_counter() - s", """
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
f = convert_variables_to_constants_v2(tf.saved_model.load('m').signatures['serving_default'])
f(x)
s = time.perf_counter()
for _ in range(100):
    f(x)
took = time.perf_counter() - s
print('throughput', 100 / took)
"""),
    Probe("a device that an option chooses", "TL103", "print('took', ", """
import sys
where = sys.argv[1]
n = int(sys.argv[2])
if where == 'gpu':
    where = '/gpu:0'
else:
    where = '/cpu:0'
with tf.device(where):
    tf.matmul(x, y).numpy()
    s = time.perf_counter()
    z = tf.matmul(x, y)
    print(n, where)
    print('took', time.perf_counter() - s)
"""),
    Probe("seconds are called milliseconds", "TL115", "print(f'Time", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
took = time.perf_counter() - s
print(f'Time:{took} milisecs')
"""),
    Probe("an example that is a program by itself begins cold", "TL104", "u = time.perf_counter()", """
# Two ways

```python
import time
import tensorflow as tf
a = tf.random.normal((512, 512))
t = time.perf_counter()
tf.matmul(a, a).numpy()
print(time.perf_counter() - t)
```

And the other:

```python
import time
import tensorflow as tf
b = tf.random.normal((512, 512))
u = time.perf_counter()
for _ in range(9):
    c = tf.matmul(b, b)
c.numpy()
print(time.perf_counter() - u)
```
""", head="", file="x.md"),
    Probe("called the CPU's beside the GPU's, in no scope", "TL302", "s = time.perf_counter()", """
s = time.perf_counter()
tf.matmul(x, y).numpy()
cpu_time = time.perf_counter() - s
with tf.device('/GPU:0'):
    u = time.perf_counter()
    tf.matmul(x, y).numpy()
    gpu_time = time.perf_counter() - u
print('CPU:', cpu_time, 'GPU:', gpu_time)
"""),
    Probe("a few steps in ten epochs", "TL105", "s = time.perf_counter()", MODEL + """
m = made()
s = time.perf_counter()
m.fit(data, goal, epochs=10)
fit_time = time.perf_counter() - s
u = time.perf_counter()
m.predict(data)
print(fit_time / (time.perf_counter() - u))
"""),
    Probe("a type that left NumPy", "TL001", "np.float)", "a = np.zeros(3, dtype=np.float)\n"),
    Probe("a model is saved to a folder", "TL003", "m.save('mine')", MODEL + "m = made()\nm.save('mine')\n"),
    Probe("weights are saved as a checkpoint", "TL003", "m.save_weights", MODEL + """
m = made()
m.save_weights('mine.ckpt')
"""),
    Probe("%timeit of a loop's head", "TL101", "%timeit for", """
# Magic

```python
import tensorflow as tf
x = tf.ones((4, 4))
%timeit for i in range(10):
    tf.matmul(x, x)
```
""", head="", file="x.md"),
    Probe("TFLite's output is read and named in the latency", "TL102", "lite.invoke()", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.set_tensor(0, np.zeros((1, 8), 'float32'))
lite.invoke()
t = time.perf_counter()
out = np.argmax(lite.get_tensor(3))
print('found', out)
print('latency', time.perf_counter() - t)
"""),
    Probe("one answer of predict() is a device's time", "TL113", "m.predict(x[:1])", MODEL + """
m = made()
m.predict(x[:1])
s = time.perf_counter()
m.predict(x[:1])
print('CPU time', time.perf_counter() - s)
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
    # Rejected at this point.
    Probe("threads are set after the first op", "TL009", "set_intra_op", """
tf.config.threading.set_intra_op_parallelism_threads(2)
"""),
    Probe("threads are set anew in a loop", "TL009", "set_inter_op", """
for n in range(1, 9):
    tf.config.threading.set_inter_op_parallelism_threads(n)
    s = time.perf_counter()
    tf.matmul(tf.ones((512, 512)), tf.ones((512, 512))).numpy()
    print(n, time.perf_counter() - s)
""", head=HEAD),
    Probe("memory is to grow after the first op", "TL009", "set_memory_growth", """
for g in tf.config.list_physical_devices('GPU'):
    tf.config.experimental.set_memory_growth(g, True)
"""),
    Probe("a session is given eager tensors", "TL009", "sess.run(x + y)", """
with tf.compat.v1.Session() as sess:
    print(sess.run(x + y))
"""),
    Probe("gradients of a graph in eager code", "TL009", "tf.gradients", "g = tf.gradients(tf.square(x), x)\n"),
    Probe("a model that nothing has compiled", "TL009", "m.fit(", """
m = keras.Sequential([keras.layers.Dense(1)])
m.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("one optimizer for two models", "TL009", "two.fit", """
adam = keras.optimizers.Adam()
one, two = keras.Sequential([keras.layers.Dense(1)]), keras.Sequential([keras.layers.Dense(1)])
one.compile(adam, 'mse')
two.compile(adam, 'mse')
one.fit(np.zeros((64, 8)), np.zeros((64, 1)))
two.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("one optimizer for a model of each size", "TL009", "m.fit", """
adam = keras.optimizers.Adam()
for size in range(8, 640, 8):
    m = keras.Sequential([keras.layers.Dense(size), keras.layers.Dense(1)])
    m.compile(adam, 'mse')
    m.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("the value of a graph's tensor", "TL009", "v.numpy()", """
@tf.function
def f(v):
    return v.numpy()
f(x)
"""),
    Probe("the value of a pipeline's tensor", "TL009", "v.numpy()", """
d = tf.data.Dataset.range(9).map(lambda v: v.numpy())
"""),
    Probe("tensors of unlike dtypes", "TL009", "tf.matmul(x, h)", """
h = tf.constant(np.random.rand(512, 512))
z = tf.matmul(x, h)
"""),
    Probe("matrices that do not fit", "TL009", "a @ b", "a, b = tf.ones((3, 4)), tf.ones((3, 4))\nz = a @ b\n"),
    Probe("shapes that do not broadcast", "TL009", "tf.ones((3, 5))", "z = tf.ones((3, 4)) + tf.ones((3, 5))\n"),
    Probe("a SavedModel predicts", "TL009", "m.predict", """
m = tf.saved_model.load('mine')
print(m.predict(x))
"""),
    Probe("a format that Keras 3 does not take", "TL002", "m.save", MODEL + """
m = made()
m.save('mine', save_format='tf')
"""),
    Probe("a model is compiled anew for each size", "TL104", "s = time.perf_counter()", MODEL + """
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
    Probe("a format that is asked of a model that is not shown", "TL002", "model.save", """
```python
from tensorflow import keras
model.save('mine', save_format='tf')
```
""", head="", file="x.md"),
    # Two labels distinguish a comparison from a log.
    Probe("two trainings called alike, of two models", "TL105", "start = time.perf_counter()  # grouped", MODEL + """
grouped, regular = made(), made()
start = time.perf_counter()  # grouped
grouped.fit(data, goal, epochs=4)
print(f'Trained GROUPED in {time.perf_counter() - start} seconds')
start = time.perf_counter()
regular.fit(data, goal, epochs=4)
print(f'Trained REGULAR in {time.perf_counter() - start} seconds')
"""),
    Probe("a loop inside of a graph against one outside", "TL103", "took = time.perf_counter() - t0", MODEL + """
net, sgd = made(), keras.optimizers.SGD()
rows = tf.data.Dataset.from_tensor_slices((data, goal)).batch(8)
@tf.function
def step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((net(batch) - wanted) ** 2)
    sgd.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
@tf.function
def inner(rows):
    for batch, wanted in rows:
        step(batch, wanted)
t0 = time.perf_counter()
inner(rows)
took = time.perf_counter() - t0
print('Time for in-graph training loop: %.3f secs' % took)
t1 = time.perf_counter()
for batch, wanted in rows:
    step(batch, wanted)
print('Time for out-of-graph training loop: %.3f secs' % (time.perf_counter() - t1))
"""),
    Probe("the average of trainings", "TL104", "start = time.perf_counter()", MODEL + """
m, total = made(), 0.0
for epoch in range(8):
    start = time.perf_counter()
    m.fit(data, goal, epochs=1)
    total += time.perf_counter() - start
print(f'Avg. time = {total / 8} seconds')
"""),
    # What is left out, and what somebody gives, is what it is called and used as.
    Probe("a model that an article leaves out", "TL103", "print('latency', time.perf_counter() - t)", """
```python
import tensorflow as tf
import time
# ... (the model as above) ...
t = time.perf_counter()
for i in range(10):
    z = model(x)
print('latency', time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("options of the command line in version 1", "TL107", "start = time.time()", """
tf.app.flags.DEFINE_boolean('backward', False, '')
FLAGS = tf.app.flags.FLAGS

def measure(session, target):
    start = time.time()
    session.run(target)
    print('latency', time.time() - start)

def main(_):
    a = tf.placeholder(tf.float32, (8, 8))
    with tf.Session() as sess:
        if FLAGS.backward and FLAGS.forward:
            raise ValueError('only one of them')
        measure(sess, tf.matmul(a, a))

if __name__ == '__main__':
    tf.app.run()
""", head="import time\nimport tensorflow as tf\n"),
    # By what a time is divided.
    Probe("one iteration less than the mean is of", "TL116", "for i in range(1, n):", """
n = 10
tf.matmul(x, y).numpy()
t = time.perf_counter()
for i in range(1, n):
    tf.matmul(x, y).numpy()
took = time.perf_counter() - t
print('latency', took / n)
"""),
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
    # Two ways between which nothing changes.
    Probe("with and without what nothing turns off", "TL117", "t = time.perf_counter()  # off", MODEL + """
m = made()
m.predict(data)
t = time.perf_counter()  # on
m.predict(data)
one = time.perf_counter() - t
print('with oneDNN', one)
# ... (disable oneDNN here) ...
t = time.perf_counter()  # off
m.predict(data)
two = time.perf_counter() - t
print('without oneDNN', two)
"""),
    Probe("two ways that comments tell apart", "TL117", "%timeit tf.matmul(x, y)  # once more", """
# Without oneDNN
%timeit tf.matmul(x, y)
# With oneDNN
%timeit tf.matmul(x, y)  # once more
""", file="x.ipy"),
    Probe("called XLA's where nothing compiles", "TL118", "s = time.perf_counter()", MODEL + """
m = made()
m.predict(data)
s = time.perf_counter()
m.predict(data)
print('XLA inference time', time.perf_counter() - s)
"""),
    Probe("called that of mixed precision where all is float32", "TL118", "s = time.perf_counter()", MODEL + """
m = made()
s = time.perf_counter()
m.fit(data, goal)
print('Training time, mixed precision:', time.perf_counter() - s)
"""),
    # Other libraries next to TensorFlow.
    Probe("PyTorch's GPU is not awaited", "TL119", "print('PyTorch GPU', time.perf_counter() - t)", """
import torch
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
a = torch.randn(512, 512, device=device)
t = time.perf_counter()
b = torch.matmul(a, a)
print('PyTorch GPU', time.perf_counter() - t)
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
    Probe("batches against all rows at once", "TL111", "start = time.perf_counter()  # keras", MODEL + """
import torch
from torch import nn
rows, wanted = torch.zeros(64, 8), torch.zeros(64, 1)
net = nn.Linear(8, 1)
loss, sgd = nn.MSELoss(), torch.optim.SGD(net.parameters(), 0.01)
start = time.perf_counter()
for epoch in range(5):
    sgd.zero_grad()
    loss(net(rows), wanted).backward()
    sgd.step()
print('PyTorch training time', time.perf_counter() - start)
m = made()
start = time.perf_counter()  # keras
m.fit(data, goal, epochs=5)
print('TensorFlow training time', time.perf_counter() - start)
"""),
    Probe("the first epoch against all others together", "TL111", "s = time.perf_counter()  # rest", MODEL + """
m = made()
s = time.perf_counter()
for _ in range(1):
    m.train_on_batch(data, goal)
print('Time for first epoch', time.perf_counter() - s)
s = time.perf_counter()  # rest
for _ in range(4):
    m.train_on_batch(data, goal)
print('Time for subsequent epochs', time.perf_counter() - s)
""", head="# The speed of training\n" + HEAD + SEEN + TENSORS),
    # What nothing calls does not come before something else that nothing calls.
    Probe("a name that a comment's exec() does not bind", "TL008", "gpu()", """
# exec(open('bench.py').read())
def bench():
    print('warming up')
    gpu()
"""),
    Probe("a cell's magic in a script", "TL008", "get_ipython()", """
get_ipython().run_line_magic('matplotlib', 'inline')
"""),
    Probe("a class that another example imports", "TL008", "plot = Plotter()", """
```python
import tensorflow as tf
from plots import Plotter
```
```python
import tensorflow as tf
import numpy as np
import time
plot = Plotter()
print(time.time())
```
""", head="", file="x.md", says="another example"),
    Probe("a method of a class that is gone, at each call", "TL001", "other.reset_states()", """
one, other = keras.metrics.Accuracy(), keras.metrics.Accuracy()
one.reset_states()
other.reset_states()
"""),
    Probe("only one of two makes its data", "TL111", "start = time.perf_counter()  # graph", """
start = time.perf_counter()
a = tf.random.normal((1000, 1000))
c = tf.matmul(a, a).numpy()
print('Eager execution time', time.perf_counter() - start)
@tf.function
def product(v):
    return v @ v
start = time.perf_counter()  # graph
product(a).numpy()
print('Graph execution time', time.perf_counter() - start)
"""),
    Probe("what a session's run draws", "TL108", "sess.run(c)", """
a = tf.random_normal((1024, 1024))
c = tf.matmul(a, a)
sess = tf.Session()
t = time.perf_counter()
sess.run(c)
print('latency', time.perf_counter() - t)
""", head="import time\nimport tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"),
    Probe("an estimator makes its graph anew", "TL108", "model.train(feed, steps=100)", """
model = tf.estimator.Estimator(build)
model.train(feed, steps=1)
t = time.time()
model.train(feed, steps=100)
print('time per step', (time.time() - t) / 100)
""", head="import time\nimport tensorflow as tf\nfrom mine import build, feed\n"),
    Probe("readings on neighbouring lines", "TL101", "start_time = time.time()", MODEL + """
m = made()
print(m.predict(data))
start_time = time.time()
end_time = time.time()
print('Testing time costs', end_time - start_time)
"""),
    Probe("a session's hook reads the clock", "TL107", "self.t0 = time.time()", """
class Hook(tf.train.SessionRunHook):
    def before_run(self, context):
        self.t0 = time.time()
    def after_run(self, context, values):
        self.ips = 32 / (time.time() - self.t0)
""", head="# Throughput, step by step\nimport time\nimport tensorflow as tf\n"),
    Probe("a model that an unread call never gets", "TL105", "t = time.perf_counter()", MODEL + """
def bench(settings):
    m = made()
    log = settings.log
    t = time.perf_counter()
    with log.part('inference'):
        m.predict(data)
    print('throughput', 64 / (time.perf_counter() - t))
"""),
    Probe("two bare figures of trainings", "TL105", "t = time.perf_counter()  # one", MODEL + """
def train():
    m = made()
    m.fit(data, data, epochs=1)
t = time.perf_counter()  # one
train()
print(time.perf_counter() - t)
t = time.perf_counter()
train()
print(time.perf_counter() - t)
"""),
    Probe("what a version 1 tutorial reads", "TL108", "input_data.read_data_sets('MNIST')", """
t = time.perf_counter()
mnist = input_data.read_data_sets('MNIST')
with tf.Session() as sess:
    sess.run(total)
print('time', time.perf_counter() - t)
""", head="import time\nimport tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\ntotal = tf.reduce_sum(tf.ones((512, 512)))\n"
    "from tensorflow.examples.tutorials.mnist import input_data\n"),
    # What a loop counts on is any number, not the first one.
    Probe("each twentieth picture of a camera", "TL107", "t1 = time.time()", MODEL + """
m = made()
frames = 0
while True:
    frames += 1
    if frames % 20 != 0:
        continue
    t1 = time.time()
    m.predict(data)
    print('Prediction speed', time.time() - t1)
"""),
    Probe("what an eager loop takes out of a pipeline", "TL103", "print('took', time.perf_counter() - t)", MODEL + """
m = made()
d = tf.data.Dataset.from_tensor_slices(data).batch(8)
m(data)
t = time.perf_counter()
for b in d:
    z = m(b)
print('took', time.perf_counter() - t)
"""),
    Probe("another SavedModel is cold", "TL105", "t = time.perf_counter()  # two", """
one, two = tf.saved_model.load('one'), tf.saved_model.load('two')
one(x).numpy()
t = time.perf_counter()  # two
two(x).numpy()
print('took', time.perf_counter() - t)
""", head=HEAD + TENSORS),
    Probe("a layer's first call makes its weights", "TL105", "t = time.perf_counter()  # two", """
one, two = keras.layers.Dense(8), keras.layers.Dense(8)
one(x).numpy()
t = time.perf_counter()  # two
two(x).numpy()
print('took', time.perf_counter() - t)
""", head=HEAD + TENSORS),
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
    Probe("a keyword that no layer of Keras 3 takes", "TL002", "batch_input_shape=(4, 8)", """
keras.layers.Dense(4, batch_input_shape=(4, 8))
"""),
    Probe("a name that a checkpoint is not saved by", "TL003", "keras.callbacks.ModelCheckpoint", """
import os
keras.callbacks.ModelCheckpoint(os.path.join('kept', 'at_{epoch}'), save_weights_only=True)
"""),
    Probe("a name whose end alone is known", "TL003", "m.save(f'{folder}/model')", MODEL + """
from mine import folder
m = made()
m.save(f'{folder}/model')
"""),
    Probe("the rate of an optimizer that has a name", "TL001", "opt.lr", """
opt = keras.optimizers.Adam()
print(opt.lr)
"""),
    Probe("TFLite's function of a signature, and what is read for it", "TL108", "np.loadtxt(name)", """
import tflite_runtime.interpreter as tflite
lite = tflite.Interpreter('a.tflite')
run = lite.get_signature_runner('serving_default')
def prepared(name):
    return np.loadtxt(name)
for name in ('a.txt', 'b.txt'):
    start = time.perf_counter()
    z = run(x=prepared(name))
    print('time', time.perf_counter() - start)
"""),
    Probe("results that are written while the clock runs", "TL108", "h5py.File('out.h5', 'w')", MODEL + """
import h5py
m = made()
start = time.perf_counter()
z = m.predict_on_batch(data)
with h5py.File('out.h5', 'w') as f:
    f.create_dataset('z', data=z)
print('inference time', time.perf_counter() - start)
"""),
    Probe("NumPy's own numbers drawn in its time", "TL108", "a = np.random.rand(1000000)", """
start = time.perf_counter()
a = np.random.rand(1000000)
z = a * a
print('NumPy', time.perf_counter() - start)
"""),
    Probe("a model that the example makes as the one before did", "TL105", "t = time.perf_counter()  # again", """
```python
import tensorflow as tf
import time
m = tf.keras.Sequential([tf.keras.layers.Dense(4)])
m.predict(tf.ones((4, 4)))
```
```python
import tensorflow as tf
import time
# ... (model creation as in the first example) ...
t = time.perf_counter()  # again
m.predict(tf.ones((4, 4)))
print('took', time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("a module that only a later example imports", "TL008", "start = time.time()", """
```python
import tensorflow as tf
x = tf.ones((512, 512))
start = time.time()
```
```python
import tensorflow as tf
import time
print(time.time())
```
""", head="", file="x.md"),
    Probe("the interpreter that each run makes", "TL108", "lite = tf.lite.Interpreter('a.tflite')", """
def run():
    lite = tf.lite.Interpreter('a.tflite')
    lite.allocate_tensors()
    lite.invoke()
def timed(runner):
    times = []
    for _ in range(10):
        start = time.perf_counter()
        runner()
        times.append(time.perf_counter() - start)
    print('Average inference time', sum(times) / 10)
timed(run)
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
    Probe("a function of one part for elements of two", "TL003", "d = d.map(slow)", """
def slow(sample):
    return sample
d = tf.data.Dataset.from_tensor_slices((np.zeros((8, 2)), np.zeros(8)))
d = d.map(slow)
"""),
    Probe("whole numbers and a fraction", "TL009", "return v + 1.0", """
@tf.function
def more(v):
    return v + 1.0
more(tf.constant(1))
"""),
    Probe("the shape of a model's layer", "TL001", "layer.output_shape", """
m = keras.Sequential([keras.layers.Dense(4, input_shape=(8,))])
for layer in m.layers:
    print(layer.output_shape)
"""),
    Probe("processes that fit() has no more", "TL002", "workers=4)", MODEL + """
from mine import build
m = build()
m.fit(data, epochs=2, workers=4)
"""),
    Probe("weights of somebody's model, by a name that is not taken", "TL003", "m.save_weights('kept')", """
from mine import build
m = build()
m.save_weights('kept')
"""),
    Probe("a second run with no first beside it", "TL105", "start = time.perf_counter()", """
f = tf.function(tf.matmul)
start = time.perf_counter()
z = f(x, y).numpy()
print('second run took', time.perf_counter() - start)
"""),
    Probe("weights by a name that is joined where nobody imports os", "TL003", "m.save_weights(kept", MODEL + """
kept = os.path.join('here', 'kept')
m = made()
m.save_weights(kept.format(epoch=1))
"""),
    Probe("the end of a pipeline that next() tells otherwise", "TL005", "except tf.errors.OutOfRangeError:", """
d = iter(tf.data.Dataset.range(8))
try:
    z = next(d)
except tf.errors.OutOfRangeError:
    pass
"""),
    Probe("a reading that a function keeps in a global", "TL103", "perf_counter() - began", """
began = 0.0
def tic():
    global began
    began = time.perf_counter()
def toc(what):
    print(what, time.perf_counter() - began)
tf.linalg.inv(x).numpy()
tic()
tf.linalg.inv(x)
toc('inverse')
"""),
    Probe("a reading that is taken off first", "TL103", "took += time.perf_counter()", """
tf.linalg.inv(x).numpy()
took = -time.perf_counter()
for _ in range(10):
    z = tf.linalg.inv(x)
took += time.perf_counter()
print(took / 10)
"""),
    Probe("a sum from which each reading is taken off", "TL104", "total -= time.perf_counter()", """
total = 0
for _ in range(10):
    total -= time.perf_counter()
    tf.linalg.inv(x).numpy()
    total += time.perf_counter()
print(total / 10)
"""),
    Probe("a pipeline that is only described", "TL101", "ds.map", """
ds = tf.data.Dataset.from_tensor_slices(x)
start = time.perf_counter()
ds = ds.map(lambda row: row * 2.0).batch(32)
print('map took', time.perf_counter() - start)
"""),
    Probe("a graph that is given what a loop counts", "TL202", "scaled(x, step)", """
@tf.function
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for step in range(100):
    scaled(x, step)
"""),
    Probe("a graph that is given a number of enumerate", "TL202", "scaled(batch, n)", """
@tf.function
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for n, batch in enumerate(tf.data.Dataset.from_tensor_slices(x).batch(8)):
    scaled(batch, n)
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
    Probe("a mean beside a percentile", "TL104", "start = time.perf_counter()", """
product = tf.function(tf.matmul)
times = []
for _ in range(50):
    start = time.perf_counter()
    product(x, y).numpy()
    times.append(time.perf_counter() - start)
print('p99', np.percentile(times, 99), 'mean', np.mean(times))
"""),
    Probe("steps a second", "TL103", "times.append", MODEL + """
m, sgd = made(), keras.optimizers.SGD()
@tf.function
def train_step(batch, wanted):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((m(batch) - wanted) ** 2)
    sgd.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
    return loss
train_step(data, goal)
times = []
for step in range(50):
    start = time.perf_counter()
    loss = train_step(data, goal)
    times.append(time.perf_counter() - start)
print('steps/s', 1 / (sum(times) / len(times)))
"""),
    Probe("a training that is called a GPU's", "TL105", "start = time.perf_counter()", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=1)
print('Training on GPU took', time.perf_counter() - start)
"""),
    Probe("validation in a rate of training", "TL108", "validation_split", MODEL + """
m = made()
m.fit(data, goal)
start = time.perf_counter()
m.fit(data, goal, epochs=5, validation_split=0.2)
print('images per second', 5 * 64 / (time.perf_counter() - start))
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
    Probe("an old name twice removed", "TL103", "took = ", """
import tensorflow.compat.v1 as tf1
tf1.math.multiply(x, y)
start = time.perf_counter()
z = tf1.math.multiply(x, y)
took = time.perf_counter() - start
"""),
    Probe("the first run of contrib's interpreter", "TL105", "start = time.perf_counter()", """
lite = tf.contrib.lite.Interpreter(model_path='model.tflite')
lite.allocate_tensors()
start = time.perf_counter()
lite.invoke()
print('elapsed', time.perf_counter() - start)
"""),
    Probe("a prepared data set that is only described", "TL101", "train.map", """
import tensorflow_datasets as tfds
(train, test), info = tfds.load('mnist', split=['train', 'test'], as_supervised=True, with_info=True)
start = time.perf_counter()
train = train.map(lambda image, label: (tf.cast(image, tf.float32), label)).batch(128)
print('Preprocessing took', time.perf_counter() - start)
"""),
    Probe("devices that are listed before their choice", "TL310", "CUDA_VISIBLE_DEVICES", """
import os
from tensorflow.python.client import device_lib
print(device_lib.list_local_devices())
os.environ['CUDA_VISIBLE_DEVICES'] = '1'
""", head=HEAD),
    Probe("warm-ups of which one was taken, that may still run", "TL103", "start = time.perf_counter()", """
import sys
product = tf.function(tf.matmul)
for _ in range(3):
    if len(sys.argv) > 1:
        product(x, y)
    else:
        tf.matmul(x, y)
start = time.perf_counter()
for _ in range(5):
    if len(sys.argv) > 1:
        z = product(x, y)
    else:
        z = tf.matmul(x, y)
z.numpy()
print(time.perf_counter() - start)
"""),
    Probe("a graph that was traced with another number", "TL105", "start = time.perf_counter()", """
@tf.function
def power(v, n):
    for _ in range(n):
        v = v @ v
    return v
power(x, 2).numpy()
start = time.perf_counter()
power(x, 9).numpy()
print(time.perf_counter() - start)
"""),
    Probe("a folder that Keras 3 does not load", "TL003", "load_model", """
m = keras.models.load_model('saved/model')
"""),
    Probe("a known end that Keras 3 does not load", "TL003", "load_model", """
import sys
m = keras.models.load_model(sys.argv[1] + '_best.model')
"""),
    Probe("samples beside a text of which a part is taken", "TL104", "start = time.perf_counter()", """
product = tf.function(tf.matmul)
times, names = [], {}
for key in ('module.a', 'module.b'):
    names[key[7:]] = key
for _ in range(50):
    start = time.perf_counter()
    product(x, y).numpy()
    times.append(time.perf_counter() - start)
print('mean', np.mean(times))
"""),
    Probe("elements of a graph that is read", "TL105", "start = time.perf_counter()", """
import tensorflow.compat.v1 as tf1
def run(definition, image):
    given, wanted = tf1.import_graph_def(definition, return_elements=['input:0', 'output:0'])
    with tf1.Session() as sess:
        start = time.perf_counter()
        wanted.eval(feed_dict={given: image})
        print('inference', time.perf_counter() - start)
run(tf1.GraphDef(), np.zeros((1, 224, 224, 3)))
""", head=HEAD),
    Probe("a time that begins where another one does", "TL111", "seconds['tf'].append", """
seconds = {'np': [], 'tf': []}
tf.linalg.inv(x).numpy()
for _ in range(20):
    start = time.perf_counter()
    np.linalg.inv(np.eye(512))
    seconds['np'].append(time.perf_counter() - start)
    tf.linalg.inv(x).numpy()
    seconds['tf'].append(time.perf_counter() - start)
print(f'NumPy: {np.mean(seconds["np"])}')
print(f'TensorFlow: {np.mean(seconds["tf"])}')
"""),
    Probe("names that left NumPy with its second version", "TL001", "np.product", """
a = np.product([2, 3])
"""),
    Probe("a name that left NumPy with 2.4", "TL001", "np.trapz", """
try:
    area = np.trapz([1.0, 2.0])
except ValueError:
    pass
"""),
    Probe("an array's method of a tensor", "TL001", "z.astype", """
z = tf.matmul(x, y) / 2
w = z.astype(np.float32)
"""),
    Probe("a physical device's name", "TL003", "get_memory_info(gpu.name)", """
for gpu in tf.config.list_physical_devices('GPU'):
    print(tf.config.experimental.get_memory_info(gpu.name)['peak'])
"""),
    Probe("a scope of a physical device's name", "TL003", "with tf.device", """
gpu = tf.config.list_physical_devices('GPU')[0]
with tf.device(gpu.name):
    tf.matmul(x, y)
"""),
    Probe("layers of somebody's model", "TL001", "input_shape", """
from architectures import dense
shape = dense(3).layers[0].input_shape
"""),
    Probe("one of two models of a module beside", "TL105", "t = time.perf_counter()", """
import sys
from architectures import dense, wide
m = dense(5) if sys.argv[1] == 'dense' else wide(5)
t = time.perf_counter()
m.predict(x)
print(time.perf_counter() - t)
"""),
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
    Probe("a session of each round", "TL104", "t = time.perf_counter()", """
tf.compat.v1.disable_eager_execution()
z = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
times = []
for _ in range(10):
    with tf.compat.v1.Session() as session:
        t = time.perf_counter()
        session.run(z)
        times.append(time.perf_counter() - t)
print(np.min(times))
""", head=HEAD),
    Probe("a second session", "TL105", "t = time.perf_counter()", """
tf.compat.v1.disable_eager_execution()
z = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
with tf.compat.v1.Session() as session:
    session.run(z)
with tf.compat.v1.Session():
    t = time.perf_counter()
    z.eval()
    print('took', time.perf_counter() - t)
""", head=HEAD),
    Probe("a large result that each run brings back", "TL114", "session.run(z)", """
tf.compat.v1.disable_eager_execution()
with tf.device('/GPU:0'):
    z = tf.matmul(tf.ones((4096, 4096)), tf.ones((4096, 4096)))
with tf.compat.v1.Session() as session:
    session.run(z.op)
    t = time.perf_counter()
    for _ in range(10):
        session.run(z)
    print('took', (time.perf_counter() - t) / 10)
""", head=HEAD),
    Probe("what a pool of threads maps", "TL104", "t = time.perf_counter()", """
from concurrent.futures import ThreadPoolExecutor
def work(_):
    return tf.matmul(x, y).numpy()
t = time.perf_counter()
with ThreadPoolExecutor(4) as pool:
    done = list(pool.map(work, range(20)))
print('calls per second', 20 / (time.perf_counter() - t))
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
    Probe("what a thread runs", "TL105", "t = time.perf_counter()", """
import threading
f = tf.function(tf.matmul)
def work():
    f(x, y).numpy()
t = time.perf_counter()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print('took', time.perf_counter() - t)
"""),
    Probe("readings of the CPU's time that a helper shows", "TL302", "cpu_start = time.perf_counter()", """
from helpers import show
tf.matmul(x, y).numpy()
cpu_start = time.perf_counter()
tf.matmul(x, y).numpy()
cpu_end = time.perf_counter()
show(cpu_start, cpu_end)
with tf.device('/GPU:0'):
    gpu_start = time.perf_counter()
    tf.matmul(x, y).numpy()
    gpu_end = time.perf_counter()
show(gpu_start, gpu_end)
"""),
    Probe("devices that only an uncalled function asks for", "TL302", "with tf.device('/GPU:0')", """
def other():
    print(tf.config.list_physical_devices('GPU'))
def bench():
    with tf.device('/GPU:0'):
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
bench()
""", head=HEAD + TENSORS),
    Probe("a class of TensorFlow 1 in another cell than what calls it", "TL007", "tf.get_variable('h'", json.dumps({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
        "cells": [{"cell_type": "code", "metadata": {}, "source": text} for text in (
            "import tensorflow as tf\nclass Net:\n    def __init__(self):\n"
            "        self.h = tf.get_variable('h', [8, 8])\n        self.x = tf.placeholder(tf.float32)\n",
            "net = Net()\nwith tf.Session() as sess:\n    sess.run(net.h)\n",
        )],
    }), head="", file="x.ipynb"),
    Probe("an interpreter that is made and runs once, beside what is not known", "TL105", "t = time.perf_counter()", """
import imgproc
def run(image):
    lite = tf.lite.Interpreter(model_path='m.tflite')
    lite.allocate_tensors()
    lite.set_tensor(0, image)
    lite.invoke()
    return lite.get_tensor(1)
t = time.perf_counter()
y = run(imgproc.normal(imgproc.cut('a.png')))
print('took', time.perf_counter() - t)
"""),
    Probe("an interpreter of each picture", "TL104", "t = time.perf_counter()", """
import glob, pictures
def run(image):
    lite = tf.lite.Interpreter(model_path='m.tflite')
    lite.allocate_tensors()
    lite.set_tensor(0, image)
    lite.invoke()
    return lite.get_tensor(1)
times = []
for name in glob.glob('*.png'):
    image = pictures.taken(name)
    t = time.perf_counter()
    run(image)
    times.append(time.perf_counter() - t)
print(np.median(times))
"""),
    Probe("a part of a timedelta", "TL115", "took.microseconds", """
from datetime import datetime
tf.matmul(x, y).numpy()
t = datetime.now()
tf.matmul(x, y).numpy()
took = datetime.now() - t
print('CPU time', took.microseconds / 1000)
"""),
    Probe("a dtype in the place of another argument", "TL003", "tf.Variable([[1.0]], tf.float32)", """
v = tf.Variable([[1.0]], tf.float32)
"""),
    Probe("a strategy that a condition decides on", "TL107", "t = time.time()", """
import sys, hardware
strategy = tf.distribute.OneDeviceStrategy('/GPU:0') if sys.argv[1] == 'gpu' else hardware.detected()
f = tf.function(tf.matmul)
strategy.run(f, args=(x, y)).numpy()
t = time.time()
strategy.run(f, args=(x, y)).numpy()
print('throughput', 1 / (time.time() - t))
"""),
    Probe("a model of a module beside, by how it is called", "TL103", "print('took'", """
import sys, nets
net = nets.Wide(8) if sys.argv[1] == 'wide' else nets.Deep(8)
net(x, training=False).numpy()
t = time.perf_counter()
z = net(x, training=False)
print('took', time.perf_counter() - t)
"""),
    Probe("a function that an unread decorator times", "TL108", "a = tf.random.normal", """
from helpers import timeit_decorator
@timeit_decorator
def work():
    a = tf.random.normal((512, 512))
    return tf.matmul(a, y).numpy()
tf.matmul(x, y)
work()
"""),
    Probe("a module of the package in which the document stands", "TL103", "bench(tf.matmul, x, y)", """
from pkg.timing import bench
tf.matmul(x, y).numpy()
print(bench(tf.matmul, x, y))
""", file="pkg/x.py", beside=(("pkg/timing.py", TIMING[1]),)),
    Probe("a picture that loadImage reads", "TL108", "loadImage", MODEL + """
import pictures
m = made()
m.predict(data)
t = time.perf_counter()
image = pictures.loadImage('a.png')
m.predict(image)
print(time.perf_counter() - t)
"""),
    Probe("an initializer that runs itself in the time", "TL108", "tf.compat.v1.global_variables_initializer().run()", """
tf.compat.v1.disable_eager_execution()
w = tf.compat.v1.get_variable('w', (64, 64))
z = tf.matmul(w, w)
with tf.compat.v1.Session() as session:
    t = time.perf_counter()
    tf.compat.v1.global_variables_initializer().run()
    for _ in range(10):
        session.run(z)
    print('CPU time', time.perf_counter() - t)
""", head=HEAD),
    Probe("a time that says how long to wait, and is shown", "TL107", "start = time.time()", MODEL + """
m = made()
while True:
    start = time.time()
    m.predict(data)
    took = time.time() - start
    print('inference', took)
    time.sleep(max(0, 1 / 8 - took))
"""),
    Probe("a setting on a way that is not taken hides no GPU", "TL103", "took = time.perf_counter() - t", """
import os
use_gpu = True
if not use_gpu:
    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("weights saved to an old name, beside a function that imports Keras", "TL003", "save_weights", """
import time
def save(model, name):
    model.save_weights('%s.h5' % name)
def load(path):
    from keras.models import load_model
    return load_model(path)
""", head=""),
    Probe("a format that save_weights does not take", "TL002", "save_format", """
def train(model):
    model.fit(x, y)
    model.save_weights('w.weights.h5', save_format='h5')
"""),
    Probe("what loading weights gives no more", "TL001", "expect_partial", MODEL + """
m = made()
m.load_weights('w.weights.h5').expect_partial()
"""),
    Probe("times that are added to a sum, written out", "TL104", "start = time.perf_counter()", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
total = 0
for _ in range(10):
    start = time.perf_counter()
    interpreter.invoke()
    end = time.perf_counter()
    total = total + (end - start)
print(total / 10)
"""),
    Probe("what is timed takes what a model still computes", "TL103", "begin = time.perf_counter()", MODEL + """
m = made()
m(data).numpy()
t = time.perf_counter()
out = m(data)
print('inference', time.perf_counter() - t)
begin = time.perf_counter()
shown = tf.clip_by_value(out, 0, 1).numpy()
print('post-processing', time.perf_counter() - begin)
""", says="the model, called on line"),
    Probe("a prediction of one picture, whose batch a line above makes", "TL113", "m.predict(batch)", """
import cv2
m = keras.models.load_model('m.keras')
picture = cv2.imread('a.png')
batch = np.expand_dims(picture, axis=0)
m.predict(batch)
t = time.perf_counter()
found = m.predict(batch)
print('time taken for inference', time.perf_counter() - t)
print(found)
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
""", says="closes its window"),
    Probe("a model that is made in the time, by its class", "TL108", "PredictionModel", """
from nets import PredictionModel
t = time.perf_counter()
model = PredictionModel('folder')
found = model.predict(np.zeros((1, 8)))
print('inference', time.perf_counter() - t, found)
"""),
    Probe("NumPy's double precision beside a session's single one", "TL111", "u = time.perf_counter()", """
a = tf.random.normal((512, 512))
product = tf.matmul(a, a)
with tf.compat.v1.Session() as sess:
    t = time.perf_counter()
    sess.run(product)
    one = time.perf_counter() - t
b = np.random.rand(512, 512)
u = time.perf_counter()
np.dot(b, b)
two = time.perf_counter() - u
""", head=HEAD + SEEN + "tf.compat.v1.disable_eager_execution()\n"),
    Probe("a name that left Pillow", "TL001", "Image.ANTIALIAS", """
from PIL import Image
picture = Image.open('a.png').resize((8, 8), Image.ANTIALIAS)
"""),
    Probe("a module that left scikit-learn", "TL001", "sklearn.cross_validation", """
from sklearn.cross_validation import train_test_split
"""),
    Probe("functions that left SciPy", "TL001", "scipy.misc", """
from scipy.misc import imread
picture = imread('a.png')
"""),
    Probe("an interpreter that one of two ways makes", "TL104", "start = time.perf_counter()", """
import argparse
from mine import Interpreter
args = argparse.ArgumentParser().parse_args()
def image():
    if args.lite:
        lite = tf.lite.Interpreter('a.tflite')
    else:
        lite = Interpreter('a.tflite')
    lite.allocate_tensors()
    total = 0
    for i in range(args.count):
        start = time.perf_counter()
        lite.invoke()
        total = total + (time.perf_counter() - start)
    print('average', total / args.count)
def video():
    if args.lite:
        lite = tf.lite.Interpreter('a.tflite')
    else:
        lite = Interpreter('a.tflite')
    lite.allocate_tensors()
    lite.invoke()
if args.video:
    video()
else:
    image()
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
    Probe("results that are gone through from the second on are no samples left out", "TL104", "start = ", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
def evaluated(name):
    took = []
    for _ in range(20):
        start = time.perf_counter()
        interpreter.invoke()
        took.append(time.perf_counter() - start)
    return {'name': name, 'mean': np.mean(took)}
results = []
results.append(evaluated('lite'))
for result in results[1:]:
    print(result)
print(results[0])
"""),
    Probe("a model that MLflow loads", "TL113", "model.predict(image)", """
import mlflow
model = mlflow.keras.load_model('folder')
image = np.zeros((1, 8), 'float32')
model.predict(image)
total = 0
for _ in range(20):
    t = time.perf_counter()
    model.predict(image)
    total += time.perf_counter() - t
print('average time per prediction', total / 20)
"""),
    Probe("a sound that each call reads", "TL108", "librosa.load", """
import librosa
class Predictor:
    def __init__(self):
        self.interpreter = tf.lite.Interpreter(model_path='m.tflite')
        self.interpreter.allocate_tensors()
    def predict(self, path):
        wave, rate = librosa.load(path, sr=16000)
        self.interpreter.set_tensor(0, wave)
        self.interpreter.invoke()
predictor = Predictor()
predictor.predict('a.wav')
t = time.perf_counter()
for _ in range(20):
    predictor.predict('a.wav')
print('average inference time', (time.perf_counter() - t) / 20)
"""),
    Probe("pictures that a session draws anew for a convolution", "TL108", "sess.run(net)", """
picture = tf.random_normal((100, 100, 100, 3))
net = tf.reduce_sum(tf.layers.conv2d(picture, 32, 7))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
def once():
    sess.run(net)
once()
print('GPU', timeit.timeit('once()', number=10, setup='from __main__ import once'))
""", head=HEAD),
    Probe("data that is made beside a model that is not read", "TL108", "np.random.random", """
from zoo import models
model = models['small']().build()
def pictures(n):
    for _ in range(n):
        yield tf.constant(np.random.random((8, 224, 224, 3)).astype('float32'))
for picture in pictures(1):
    model(picture)
t = time.perf_counter()
for picture in pictures(20):
    model(picture)
print('total time', time.perf_counter() - t)
"""),
    Probe("a handler of ValueError around another dtype than the signature's", "TL005", "except ValueError", """
@tf.function(input_signature=[tf.TensorSpec([None], tf.int32, name='x')])
def cube(z):
    return tf.pow(z, 3)
try:
    print(cube(tf.constant([1., 2., 3.])))
except ValueError as error:
    print(error)
"""),
    Probe("the name of a symbolic tensor's dtype", "TL001", "h.dtype.name", """
inputs = keras.layers.Input(shape=(8,))
h = keras.layers.Dense(4)(inputs)
print(h.dtype.name)
"""),
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
    Probe("a step that is not read, never run before", "TL104", "t = time.perf_counter()", """
from mine import train_step
t = time.perf_counter()
for _ in range(10):
    train_step(x)
print('latency', time.perf_counter() - t)
"""),
    Probe("an interpreter of Coral's, never run before", "TL104", "t = time.perf_counter()", """
from pycoral.utils.edgetpu import make_interpreter
engine = make_interpreter('m_edgetpu.tflite')
engine.allocate_tensors()
times = []
for trial in range(100):
    engine.set_tensor(0, np.ones((1, 8), 'float32'))
    t = time.perf_counter()
    engine.invoke()
    times.append(time.perf_counter() - t)
print('average', np.mean(times))
"""),
    Probe("one answer of an unread detector", "TL105", "t = time.perf_counter()", """
import detectors, cv2
finder = detectors.Finder('m.pb')
image = cv2.imread('a.png')
t = time.perf_counter()
faces = finder.detect(image)
print('Detection took', time.perf_counter() - t)
"""),
    Probe("an interpreter beside what is not read", "TL104", "t = time.perf_counter()", """
import pictures
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
times = []
for name in pictures.names():
    t = time.perf_counter()
    interpreter.set_tensor(0, pictures.resized(name))
    interpreter.invoke()
    times.append(time.perf_counter() - t)
print('average', sum(times) / len(times))
"""),
    Probe("a session that what is not read was never given", "TL104", "t = time.perf_counter()", """
import tensorflow.compat.v1 as tf1
import batches
tf1.disable_eager_execution()
fed = tf1.placeholder(tf1.float32, (None, 8))
z = tf1.matmul(fed, tf1.ones((8, 8)))
with tf1.Session() as sess:
    t = time.perf_counter()
    for step in range(100):
        sess.run(z, feed_dict={fed: batches.following(32)})
    print('CPU time', time.perf_counter() - t)
"""),
    Probe("a pretrained model's first answer", "TL105", "t = time.perf_counter()", """
from transformers import TFBertModel, BertTokenizer
words = BertTokenizer.from_pretrained('b')
bert = TFBertModel.from_pretrained('b')
t = time.perf_counter()
z = bert(words('hello', return_tensors='tf'))
print('inference time', time.perf_counter() - t)
"""),
    Probe("one gradient alone is no training", "TL103", "print('gradient", """
w = tf.Variable(x)
def loss(): return tf.reduce_sum(tf.matmul(w, w))
with tf.GradientTape() as tape:
    z = loss()
tape.gradient(z, w)
t = time.perf_counter()
with tf.GradientTape() as tape:
    z = loss()
g = tape.gradient(z, w)
print('gradient time', time.perf_counter() - t)
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
    Probe("an array that is loaded in the time", "TL108", "np.load(", MODEL + """
m = made()
m(data).numpy()
t = time.perf_counter()
rows = np.load('rows.npy')
z = m(rows).numpy()
print('inference time', time.perf_counter() - t)
"""),
    Probe("results that are dumped in the time", "TL108", "pickle.dump(", MODEL + """
import pickle
m = made()
m(data).numpy()
t = time.perf_counter()
z = m(data).numpy()
pickle.dump(z, open('z.pkl', 'wb'))
print('inference time', time.perf_counter() - t)
"""),
    Probe("a log's file that is written in the time", "TL108", "with open(", MODEL + """
m = made()
m(data).numpy()
t = time.perf_counter()
z = m(data).numpy()
with open('log.txt', 'a') as log:
    log.write(str(z.shape))
print('inference time', time.perf_counter() - t)
"""),
    Probe("a picture of PIL's that is opened in the time", "TL108", "Image.open", MODEL + """
from PIL import Image
m = made()
m(data).numpy()
for name in ('a.png', 'b.png', 'c.png'):
    t = time.perf_counter()
    z = m(np.array(Image.open(name))[None]).numpy()
    print('inference time', time.perf_counter() - t)
"""),
    Probe("a time called by its key", "TL113", "m.predict(image)", MODEL + """
import cv2
from mine import answers
m = made()
def answer(request):
    t = time.perf_counter()
    image = cv2.imread(request.path)[None]
    z = m.predict(image)
    took = time.perf_counter() - t
    return answers({'label': int(np.argmax(z)), 'inference_time': took})
"""),
    Probe("a metric under its short name", "TL004", "history['acc']", MODEL + """
m = keras.Sequential([keras.layers.Dense(4)])
m.compile('adam', 'mse', metrics=['accuracy'])
h = m.fit(data, goal)
print(h.history['acc'])
"""),
    Probe("a loss of validation where nothing is tested", "TL004", "history['val_loss']", MODEL + """
h = made().fit(data, goal)
print(h.history['val_loss'])
"""),
    Probe("a cell that repeats ops and does nothing else", "TL103", "%%time", """
```python
%%time
for _ in range(10):
    z = tf.matmul(x, y)
```
""", head="```python\nimport tensorflow as tf\nx = y = tf.random.normal((512, 512))\ntf.matmul(x, y)\n```\n",
          file="x.md"),
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
    Probe("what lies between one lap's end and the next one's", "TL108", "saver.save(", """
import tensorflow.compat.v1 as tf1
tf1.disable_eager_execution()
fed = tf1.placeholder(tf1.float32, (None, 8))
z = tf1.matmul(fed, tf1.get_variable('w', (8, 8)))
saver = tf1.train.Saver()
laps = []
with tf1.Session() as sess:
    for step in range(100):
        sess.run(z, feed_dict={fed: np.ones((4, 8))})
        if step > 0:
            laps.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        saver.save(sess, 'kept')
print('mean lap', np.mean(laps))
"""),
    Probe("a lap that begins in the iteration before", "TL107", "begun = time.time()", MODEL + """
m = made()
laps = []
for step in range(100):
    m(data).numpy()
    if step > 5:
        if step > 6:
            laps.append(time.time() - begun)
        begun = time.time()
print('mean latency', np.mean(laps))
"""),
    Probe("a step of many between two lines of a log", "TL107", "start_time = time.time()", """
import tensorflow.compat.v1 as tf1
tf1.disable_eager_execution()
fed = tf1.placeholder(tf1.float32, (None, 8))
w = tf1.get_variable('w', (8, 8))
loss = tf1.reduce_mean(tf1.matmul(fed, w))
train = tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
LOG_FREQUENCY = 100
start_time = time.time()
with tf1.Session() as sess:
    sess.run(tf1.global_variables_initializer())
    for step in range(1000):
        _, l = sess.run([train, loss], feed_dict={fed: np.ones((4, 8))})
        if step % LOG_FREQUENCY == 0:
            elapsed = time.time() - start_time
            start_time = time.time()
            print('Step %d, %.1f ms' % (step, 1000 * elapsed / LOG_FREQUENCY))
            print('Minibatch loss: %.3f' % l)
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
    Probe("boxes that are drawn in the time", "TL108", "draw.rectangle", MODEL + """
from PIL import Image, ImageDraw
m = made()
m(data).numpy()
def detect(image):
    t = time.perf_counter()
    boxes = m(data).numpy()
    draw = ImageDraw.Draw(image)
    for box in boxes:
        draw.rectangle([0, 0, 8, 8])
    print('inference time', time.perf_counter() - t)
detect(Image.open('a.png'))
"""),
    Probe("a text's size that left Pillow", "TL001", "draw.textsize", """
from PIL import Image, ImageDraw
draw = ImageDraw.Draw(Image.new('L', (8, 8)))
print(draw.textsize('a'))
"""),
    Probe("a model of Keras' own that is built in the time", "TL108", "keras.applications.ResNet50", """
t = time.perf_counter()
net = keras.applications.ResNet50()
z = net.predict(np.zeros((1, 224, 224, 3)))
print('inference took', time.perf_counter() - t)
"""),
    Probe("a summary that each run writes", "TL108", "add_summary", """
import tensorflow.compat.v1 as tf1
tf1.disable_eager_execution()
fed = tf1.placeholder(tf1.float32, (None, 8))
z = tf1.matmul(fed, tf1.ones((8, 8)))
said = tf1.summary.scalar('mean', tf1.reduce_mean(z))
with tf1.Session() as sess:
    writer = tf1.summary.FileWriter('logs')
    sess.run([z, said], feed_dict={fed: np.ones((4, 8))})
    t = time.perf_counter()
    for step in range(10):
        _, text = sess.run([z, said], feed_dict={fed: np.ones((4, 8))})
        writer.add_summary(text, step)
    print('latency', (time.perf_counter() - t) / 10)
"""),
    Probe("a density of a library on TensorFlow", "TL107", "t = time.time()", """
import zfit
pdf = zfit.pdf.Gauss(obs=zfit.Space('x', limits=(-5, 5)), mu=0, sigma=1)
z = pdf.pdf(np.zeros(8)).numpy()
times = []
for _ in range(10):
    t = time.time()
    z = pdf.pdf(np.zeros(8)).numpy()
    times.append(time.time() - t)
print(np.mean(times))
"""),
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
""", says="the model is tested"),
]  # fmt: skip


DECOYS = [
    Probe("a wait whichever way is taken", "TL103", "", """
import sys
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
if len(sys.argv) > 1:
    z = f(x).numpy()
else:
    z = float(tf.reduce_sum(f(x)))
print('GPU', time.perf_counter() - t)
"""),
    Probe("a wait after both ways", "TL103", "", """
import sys
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
if len(sys.argv) > 1:
    z = f(x)
else:
    z = f(y)
z.numpy()
print('GPU', time.perf_counter() - t)
"""),
    Probe("a model of PyTorch by its name", "TL103", "", """
import torch
from nets import build_model
net = build_model(classes=10)
net(x)
t = time.perf_counter()
for _ in range(20):
    z = net(x)
print('latency', (time.perf_counter() - t) / 20)
"""),
    Probe("a model of scikit-learn that is given", "TL001", "", """
def score(model, rows, goal):
    t = time.perf_counter()
    value = model.score(rows, goal)
    model.predict_proba(rows)
    print(value, time.perf_counter() - t)
"""),
    Probe("a model that is given, and may be warm", "TL105", "", """
def latency(model, images):
    t = time.perf_counter()
    model.predict(images)
    return time.perf_counter() - t
"""),
    Probe("an image that is read before the clock", "TL108", "", MODEL + """
m = keras.applications.MobileNetV2()
image = keras.utils.load_img('cat.jpg', target_size=(224, 224))
rows = np.expand_dims(keras.utils.img_to_array(image), 0)
m.predict(rows)
t = time.perf_counter()
m.predict(rows)
print('inference', time.perf_counter() - t)
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
    Probe("predict() of thousands of rows", "TL113", "", MODEL + """
m = made()
rows = np.zeros((4096, 8))
m.predict(rows)
times = []
for _ in range(5):
    t = time.perf_counter()
    m.predict(rows)
    times.append(time.perf_counter() - t)
print('latency', sum(times) / 5)
"""),
    Probe("many epochs where speed is meant", "TL105", "", MODEL + """
m = made()
t = time.perf_counter()
m.fit(data, goal, epochs=40)
print(time.perf_counter() - t)
""", head="# Training speed, CPU vs GPU\n" + HEAD),
    Probe("a timer whose body waits", "TL103", "", """
from utils import Timer
tf.matmul(x, y).numpy()
with Timer('GPU'):
    z = tf.matmul(x, y).numpy()
"""),
    Probe("a graph made once, as training begins", "TL202", "", """
class Times(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        @tf.function
        def mean(v):
            return tf.reduce_mean(v)
        self.mean = mean
"""),
    Probe("a model of version 1 is loaded into its session", "TL101", "", """
with tf.compat.v1.Session() as sess:
    t = time.perf_counter()
    graph = tf.compat.v1.saved_model.loader.load(sess, ['serve'], 'model')
    print('loading took', time.perf_counter() - t)
"""),
    Probe("an optimizer's rate by its name", "TL001", "", """
class Rate(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(float(self.model.optimizer.learning_rate))
"""),
    Probe("names that are bound in other ways", "TL008", "", """
try:
    profile
except NameError:
    profile = None
def first():
    global total
    total = 1
def second(*given, **named):
    return total, [each for each in given if (size := len(given)) and size], named
with open('x') as handle:
    pass
class Made:
    kind = 1
    def of(self: "Later") -> "Later":
        return __class__.kind, __file__
print(first, second, Made, handle)
""", head=HEAD),
    Probe("names that a star may bring", "TL008", "", "from helpers import *\nz = tf.matmul(X, y)\n"),
    Probe("names that exec may bind", "TL008", "", "exec(open('x').read())\nz = tf.matmul(X, y)\n"),
    Probe("an excerpt of an article", "TL008", "", "```python\nimport tensorflow as tf\nz = tf.matmul(X, Y)\n```\n",
          head="", file="x.md"),
    Probe("names that a magic brings", "TL008", "", json.dumps({
        "nbformat": 4,
        "metadata": {},
        "cells": [{"cell_type": "code", "source": HEAD + "%run helpers.py\nprint(took)\n"}],
    }), head="", file="x.ipynb"),
    Probe("names of another version in a branch that is not taken", "TL001", "", """
TF2 = True
if TF2:
    z = tf.matmul(x, y)
else:
    z = tf.sparse_matmul(x, y)
if False:
    tf.get_variable('w')
"""),
    Probe("today's argument of Keras under TensorFlow's own name", "TL002", "", """
optimizer = tf.optimizers.Adam(learning_rate=0.001)
loss = tf.losses.MeanSquaredError()
"""),
    Probe("a SavedModel's output is awaited", "TL103", "", """
infer = tf.saved_model.load('m').signatures['serving_default']
infer(x)['output'].numpy()
t = time.perf_counter()
out = infer(x)['output'].numpy()
took = time.perf_counter() - t
"""),
    Probe("a method of a further library's model, which may read what it computed", "TL103", "", """
import keras_cv
model = keras_cv.models.StableDiffusion()
model.text_to_image('a horse')
t = time.perf_counter()
model.text_to_image('a horse')
took = time.perf_counter() - t
"""),
    Probe("Hugging Face's model of PyTorch", "TL103", "", """
from transformers import AutoTokenizer, BertModel
model = BertModel.from_pretrained('bert-base-uncased')
t = time.perf_counter()
out = model(AutoTokenizer.from_pretrained('bert-base-uncased')('text'))
took = time.perf_counter() - t
"""),
    Probe("a strategy's run of today", "TL001", "", """
def step(strategy, batch):
    strategy.scope()
    strategy.experimental_distribute_dataset(batch)
    return strategy.run(tf.square, args=(batch,))
"""),
    Probe("a fit_generator of one's own", "TL001", "", """
class Mine:
    def fit_generator(self, batches):
        return batches
def train(mine):
    mine.fit_generator([])
"""),
    Probe("an op of Keras' backend is awaited", "TL103", "", """
from tensorflow.keras import backend as K
K.dot(x, y).numpy()
t = time.perf_counter()
K.eval(K.dot(x, y))
took = time.perf_counter() - t
"""),
    Probe("eval() computes", "TL101", "", """
fast = tf.linalg.lstsq(x, y)
with tf.Session():
    fast.eval()
    t = time.perf_counter()
    fast.eval()
    print(time.perf_counter() - t)
"""),
    Probe("another library's model fits", "TL105", "", """
from models import build
net = build()
t = time.perf_counter()
net.fit(x, y)
print('latency', time.perf_counter() - t)
"""),
    Probe("times that are picked", "TL104", "", MODEL + """
m = made()
times = []
for step in range(20):
    start = time.perf_counter()
    m.fit(data, goal, epochs=1)
    took = time.perf_counter() - start
    if step > 3:
        times.append(took)
print(sum(times))
"""),
    Probe("a plot after the clock", "TL108", "", MODEL + """
import matplotlib.pyplot as plt
m = made()
t = time.perf_counter()
history = m.fit(data, goal)
took = time.perf_counter() - t
plt.plot(history.history['loss'])
print('images per second', 64 / took)
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
    Probe("an error that is caught to be shown", "TL003", "", """
z = tf.zeros((3,))
try:
    z[0] = 1.0
except TypeError as error:
    print(error)
"""),
    Probe("NumPy's product of what is not known", "TL104", "", """
from data import rows, columns
def net(v):
    return np.matmul(v, columns) > 0
t = time.perf_counter()
for row in rows:
    net(row)
print('latency', time.perf_counter() - t)
"""),
    Probe("PyTorch's product beside TensorFlow's", "TL111", "", """
import torch
a = torch.rand([5000, 5000])
b = tf.convert_to_tensor(a.numpy())
tf.matmul(b, b).numpy()
t = time.perf_counter()
for _ in range(100):
    a = a @ a
t_torch = time.perf_counter() - t
print('Torch time', t_torch)
u = time.perf_counter()
for _ in range(100):
    b = b @ b
b.numpy()
t_tf = time.perf_counter() - u
print('Tensorflow time', t_tf)
"""),
    Probe("a text is formatted and printed", "TL003", "", "print('took %f' % 1.0)\n"),
    Probe("a session warmed by the tensor's op", "TL105", "", """
a = tf.compat.v1.placeholder(tf.float32, (64, 64))
p = tf.matmul(a, a)
with tf.compat.v1.Session() as sess:
    sess.run(p.op, {a: np.zeros((64, 64))})
    t = time.perf_counter()
    sess.run(p.op, {a: np.zeros((64, 64))})
    print(time.perf_counter() - t)
""", head=HEAD),
    Probe("a clock that starts after the first iteration", "TL104", "", """
f = tf.function(lambda v: v @ v)
for i in range(10):
    if i == 1:
        t = time.perf_counter()
    f(x).numpy()
print((time.perf_counter() - t) / 9)
"""),
    Probe("a log of one training", "TL105", "", MODEL + """
t = time.time()
made().fit(data, goal, epochs=25)
print('training took', time.time() - t)
"""),
    Probe("a log of each epoch", "TL103", "", MODEL + """
m = made()
for epoch in range(5):
    t = time.time()
    m.fit(data, goal, epochs=2)
    print('epoch', epoch, 'took', time.time() - t)
"""),
    Probe("totals of like counts", "TL111", "", """
tf.matmul(x, y).numpy()
t = time.perf_counter()
for _ in range(10):
    z = tf.matmul(x, y)
z.numpy()
cpu = time.perf_counter() - t
t = time.perf_counter()
for _ in range(10):
    z = tf.matmul(x, y)
z.numpy()
gpu = time.perf_counter() - t
print(cpu / gpu)
"""),
    Probe("each total by its own count", "TL111", "", """
tf.matmul(x, y).numpy()
t = time.perf_counter()
for _ in range(10):
    z = tf.matmul(x, y)
z.numpy()
cpu = (time.perf_counter() - t) / 10
t = time.perf_counter()
for _ in range(5):
    z = tf.matmul(x, y)
z.numpy()
gpu = (time.perf_counter() - t) / 5
print(cpu / gpu)
"""),
    Probe("two parts of one program", "TL111", "", """
tf.matmul(x, y).numpy()
t = time.perf_counter()
for _ in range(10):
    z = tf.matmul(x, y)
z.numpy()
print('warm-up', time.perf_counter() - t)
t = time.perf_counter()
for _ in range(500):
    z = tf.matmul(x, y)
z.numpy()
print('run', time.perf_counter() - t)
"""),
    Probe("the first call by intention", "TL105", "", """
f = tf.function(lambda v: v @ v)
# The first call traces: its time is given by itself.
t = time.perf_counter()
f(x).numpy()
print('first call', time.perf_counter() - t)
"""),
    Probe("a warm-up by a helper", "TL104", "", """
f = tf.function(lambda v: v @ v)
def warm(g):
    for _ in range(3):
        g(x).numpy()
warm(f)
t = time.perf_counter()
for _ in range(10):
    z = f(x)
z.numpy()
print(time.perf_counter() - t)
"""),
    Probe("a warm-up by what is not known", "TL105", "", """
import elsewhere
f = tf.function(lambda v: v @ v)
elsewhere.warm(f)
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("the first iterations are dropped", "TL104", "", """
f = tf.function(lambda v: v @ v)
times = []
for step in range(20):
    t = time.perf_counter()
    f(x).numpy()
    if step > 3:
        times.append(time.perf_counter() - t)
print(sum(times))
"""),
    Probe("version 1 for all of the document", "TL103", "", """
tf.compat.v1.disable_eager_execution()
a = tf.random.normal((64, 64))
p = tf.matmul(a, a)
with tf.compat.v1.Session() as sess:
    sess.run(p)
    t = time.perf_counter()
    sess.run(p)
    print(time.perf_counter() - t)
""", head=HEAD),
    Probe("a delay by an empty loop", "TL106", "", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
for _ in range(5): pass
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a warm-up that was awaited", "TL103", "", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a warm-up that is lost in many calls", "TL103", "", """
f = tf.function(lambda v: v @ v)
f(x)
t = time.perf_counter()
for _ in range(1000):
    z = f(x)
z.numpy()
print(time.perf_counter() - t)
"""),
    Probe("pytest-benchmark that waits", "TL103", "", """
f = tf.function(lambda v: v @ v)
def test_product(benchmark):
    f(x)
    benchmark(lambda: f(x).numpy())
"""),
    Probe("a helper of a module that waits", "TL103", "", """
from timing import waits
f = tf.function(lambda v: v @ v)
f(x).numpy()
print(waits(f, x))
""", beside=(TIMING,)),
    Probe("what a module warms when it is imported", "TL105", "", """
from warm import f
t = time.perf_counter()
f(x).numpy()
print(time.perf_counter() - t)
""", beside=(("warm.py", HEAD + TENSORS + "f = tf.function(lambda v: v @ v)\nf(x).numpy()\n"),)),
    Probe("a module's own faults are told in that module", "TL107", "", """
import clocks
clocks.run()
""", beside=(("clocks.py", HEAD + TENSORS + "def run():\n    t = time.time()\n    (x @ y).numpy()\n"
              "    print('GPU time', time.time() - t)\n"),)),
    Probe("a module's names are told in that module", "TL001", "", """
from names import run
run(x)
""", beside=(("names.py", "import tensorflow as tf\ndef run(v):\n    return tf.signal.lfiltr(v)\n"),)),
    Probe("a module that cannot be read", "TL105", "", """
import broken
t = time.perf_counter()
broken.run(x)
print(time.perf_counter() - t)
""", beside=(("broken.py", "def run(:\n"),)),
    Probe("two dates go to a function that is not shown", "TL103", "", """
from plots import axis
start = time.time()
tf.matmul(x, y).numpy()
end = time.time()
axis(start, end)
"""),
    Probe("a lambda's sync inside of timeit", "TL103", "", """
f = tf.function(lambda v: v @ v)
f(x).numpy()
print('GPU', timeit.timeit(lambda: f(x).numpy(), number=100))
"""),
    Probe("predict waits by itself", "TL103", "", MODEL + """
m = made()
m.predict(data)
t = time.perf_counter()
m.predict(data)
print('GPU time', time.perf_counter() - t)
"""),
    Probe("TFLite that was invoked before", "TL104", "", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.invoke()
t = time.perf_counter()
for _ in range(20):
    lite.invoke()
print((time.perf_counter() - t) / 20)
"""),
    Probe("a training step warms fit", "TL105", "", MODEL + """
m = made()
m.train_on_batch(data, goal)
t = time.perf_counter()
m.fit(data, goal)
print('images per second', 64 / (time.perf_counter() - t))
"""),
    Probe("NumPy and TensorFlow of 32 bits", "TL111", "", """
a = np.random.uniform(size=(300, 300)).astype('float32')
s = time.perf_counter()
np.linalg.svd(a)
numpy = time.perf_counter() - s
b = tf.random.uniform((300, 300))
t = time.perf_counter()
tf.linalg.svd(b)[0].numpy()
print(numpy, time.perf_counter() - t)
"""),
    Probe("a thousand predictions", "TL104", "", MODEL + """
m = made()
t = time.perf_counter()
for _ in range(1000):
    m.predict(data)
print('latency', (time.perf_counter() - t) / 1000)
"""),
    Probe("devices are shown before what is defined above runs", "TL302", "", """
def run():
    with tf.device('/GPU:0'):
        t = time.perf_counter()
        tf.matmul(tf.ones((64, 64)), tf.ones((64, 64))).numpy()
        print('GPU', time.perf_counter() - t)
print(tf.config.list_physical_devices())
run()
""", head=HEAD),
    Probe("data that is made beside the work", "TL105", "", """
tf.matmul(x, y).numpy()
t = time.perf_counter()
tf.matmul(tf.random.normal((512, 512)), y).numpy()
print(time.perf_counter() - t)
"""),
    Probe("a lambda's own parameter", "TL001", "", """
jobs = register(lambda tf: tf.anything(1))
"""),
    Probe("a thousand tiny calls on the CPU", "TL104", "", """
small = tf.ones((4, 4))
with tf.device('/CPU:0'):
    t = time.perf_counter()
    for _ in range(1000):
        z = tf.cumsum(small)
    z.numpy()
    print(time.perf_counter() - t)
"""),
    Probe("items of what can be assigned", "TL003", "", """
v = tf.Variable(tf.zeros((3,)))
v[0].assign(1.0)
a = np.zeros(3)
a[0] = 1.0
b = tf.zeros((3,)).numpy()
b[0] = 1.0
c = [tf.zeros(3)]
c[0] = tf.ones(3)
"""),
    Probe("a model made in the scope that is timed", "TL309", "", """
with tf.device('/CPU:0'):
    m = keras.Sequential([keras.layers.Dense(4)])
    m(x).numpy()
with tf.device('/CPU:0'):
    t = time.perf_counter()
    m(x).numpy()
    print('CPU', time.perf_counter() - t)
"""),
    Probe("TFLite invoked between the readings", "TL102", "", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.set_tensor(0, np.zeros((1, 8), 'float32'))
lite.invoke()
t = time.perf_counter()
lite.invoke()
out = lite.get_tensor(3)
print('latency', time.perf_counter() - t)
"""),
    Probe("XLA is called XLA", "TL111", "", """
fast = tf.function(lambda v: v @ v, jit_compile=True)
fast(x).numpy()
tf.matmul(x, x).numpy()
t = time.perf_counter()
tf.matmul(x, x).numpy()
eager = time.perf_counter() - t
t = time.perf_counter()
fast(x).numpy()
xla = time.perf_counter() - t
print('eager', eager, 'XLA', xla)
"""),
    Probe("a time of the GPU's that is asked for before", "TL302", "", """
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('GPU time: ' + str(time.perf_counter() - s))
"""),
    Probe("arrays whose copy is said to count", "TL114", "", """
a = np.random.rand(4000, 4000).astype('float32')
with tf.device('/gpu:0'):
    tf.matmul(a, a).numpy()
    s = time.perf_counter()
    tf.matmul(a, a).numpy()
    print('GPU, with the copy', time.perf_counter() - s)
"""),
    Probe("a model is given the host's picture", "TL114", "", """
m = keras.Sequential([keras.layers.Dense(4)])
a = np.random.rand(4000, 4000).astype('float32')
m(a).numpy()
s = time.perf_counter()
m(a).numpy()
print('GPU', time.perf_counter() - s)
"""),
    Probe("tested in a time that is the whole's", "TL108", "", MODEL + """
m = made()
s = time.perf_counter()
m.fit(data, goal, epochs=20)
m.evaluate(data, goal)
print('total ' + str(time.perf_counter() - s))
"""),
    Probe("many batches predicted at once", "TL113", "", """
m = keras.models.load_model('m.keras')
window = np.ones((5000, 50, 5), 'float32')
for _ in range(3):
    s = time.perf_counter()
    m.predict(window)
    print(time.perf_counter() - s)
"""),
    Probe("items that are written before", "TL106", "", """
rows = np.random.rand(3, 512)
padded = np.zeros((3, 600))
for i, row in enumerate(rows):
    for j, item in enumerate(row):
        padded[i, j] = item
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print(time.perf_counter() - s)
"""),
    Probe("an estimator predicts", "TL113", "", """
from sklearn.linear_model import LinearRegression
m = LinearRegression().fit(np.ones((9, 2)), np.ones(9))
for _ in range(9):
    s = time.perf_counter()
    m.predict(np.ones((1, 2)))
    print(time.perf_counter() - s)
"""),
    Probe("minutes of training by an unread library's model", "TL107", "", """
import keras_cv
m = keras_cv.models.DarkNet53(classes=3)
s = time.time()
m.fit(x, y, epochs=25)
print('Elapsed', time.time() - s)
"""),
    Probe("a name behind a switch that is off", "TL008", "", """
HAVE_GPU = False
if HAVE_GPU:
    gpu()
"""),
    Probe("a part of the work is called the GPU's", "TL302", "", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print(f'Training time with GPU preprocessing: {time.perf_counter() - s}')
""", head=HEAD + TENSORS),
    Probe("the time of building is told beside", "TL108", "", """
def built():
    data = np.random.uniform(0, 1, (512, 512))
    tf.matmul(data, data).numpy()
s = time.perf_counter()
m = built()
build_time = time.perf_counter() - s
print('Build time:', build_time)
"""),
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
    Probe("an example that goes on with another's tensors", "TL105", "", """
# Two steps

```python
import tensorflow as tf
a = tf.random.normal((512, 512))
tf.matmul(a, a).numpy()
```

Now its time:

```python
import time
import tensorflow as tf
t = time.perf_counter()
tf.matmul(a, a).numpy()
print(time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("called the CPU's where a scope puts it there", "TL302", "", """
with tf.device('/CPU:0'):
    s = time.perf_counter()
    tf.matmul(x, y).numpy()
    cpu_time = time.perf_counter() - s
with tf.device('/GPU:0'):
    u = time.perf_counter()
    tf.matmul(x, y).numpy()
    gpu_time = time.perf_counter() - u
print('CPU:', cpu_time, 'GPU:', gpu_time)
"""),
    Probe("called the CPU's where there is no GPU beside", "TL302", "", """
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('CPU time', time.perf_counter() - s)
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
    Probe("NumPy's own types", "TL001", "", "a = np.zeros(3, dtype=np.float64).astype(np.int_)\n"),
    Probe("a model is saved to a file", "TL003", "", MODEL + """
name = input()
m = made()
m.save('mine.keras')
m.save('mine.h5')
m.save(name)
m.save_weights('mine.weights.h5')
"""),
    Probe("%timeit of a whole loop", "TL101", "", """
%timeit [tf.matmul(x, x) for _ in range(3)]
""", file="x.ipy"),
    Probe("a SavedModel is written", "TL103", "", MODEL + """
s = time.perf_counter()
tf.saved_model.save(made(), 'mine')
print('GPU', time.perf_counter() - s)
"""),
    Probe("a product of what TFLite gave", "TL102", "", """
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.invoke()
t = time.perf_counter()
tf.matmul(lite.get_tensor(3), y).numpy()
print('product', time.perf_counter() - t)
"""),
    Probe("a data set is predicted at once", "TL113", "", MODEL + """
m = made()
m.predict(x)
s = time.perf_counter()
m.predict(x)
print('CPU time', time.perf_counter() - s)
"""),
    Probe("a model is cloned for another device", "TL309", "", """
m = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(4)])
t = time.perf_counter()
with tf.device('/GPU:0'):
    other = keras.models.clone_model(m)
print('GPU, made in', time.perf_counter() - t)
"""),
    Probe("a part of the work is called the CPU's", "TL302", "", """
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('time with CPU preprocessing', time.perf_counter() - s)
with tf.device('/GPU:0'):
    u = time.perf_counter()
    tf.matmul(x, y).numpy()
    print('GPU time', time.perf_counter() - u)
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
    Probe("devices that may be refused", "TL009", "", """
try:
    tf.config.set_visible_devices([], 'CPU')
except RuntimeError as error:
    print(error)
"""),
    Probe("a session of a graph", "TL009", "", """
with tf.compat.v1.Session() as sess:
    print(sess.run(tf.constant(1.0) + tf.constant(2.0)))
"""),
    Probe("a model that somebody else readies", "TL009", "", """
from helpers import ready
m = keras.Sequential([keras.layers.Dense(1)])
ready(m)
m.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("a model that is compiled in a function", "TL009", "", MODEL + """
m = made()
m.fit(data, goal)
"""),
    Probe("an optimizer for each model", "TL009", "", """
for size in range(8, 640, 8):
    m = keras.Sequential([keras.layers.Dense(size), keras.layers.Dense(1)])
    m.compile(keras.optimizers.Adam(), 'mse')
    m.fit(np.zeros((64, 8)), np.zeros((64, 1)))
"""),
    Probe("one model that is compiled twice", "TL009", "", MODEL + """
adam = keras.optimizers.Adam()
m = made()
m.compile(adam, 'mse')
m.fit(data, goal)
m.compile(adam, 'mae')
m.fit(data, goal)
"""),
    Probe("a value that a graph finds outside", "TL009", "", """
@tf.function
def f(v):
    return v * x.numpy()
f(y)
"""),
    Probe("the value in Python of a pipeline", "TL009", "", """
d = tf.data.Dataset.range(9).map(lambda v: tf.py_function(lambda w: w.numpy(), [v], tf.int64))
"""),
    Probe("an array takes the tensor's dtype", "TL009", "", """
h = np.random.rand(512, 512)
z = tf.matmul(x, h)
w = x * h
"""),
    Probe("sides of one and matrices that fit", "TL009", "", """
z = tf.ones((3, 1)) + tf.ones((3, 5)) + 1.0
w = tf.ones((3, 4)) @ tf.ones((4, 2)) + tf.ones((1, 2))
v = tf.matmul(tf.ones((3, 4)), tf.ones((3, 4)), transpose_b=True)
"""),
    Probe("a lesson on what is refused", "TL009", "", """
# This will raise an error: the dtypes differ.
z = tf.constant(1.0) + tf.constant(2)
"""),
    Probe("the GPU is hidden by a setting, and nothing waits", "TL103", "", """
tf.config.set_visible_devices([], 'GPU')
a = tf.ones((512, 512))
tf.matmul(a, a)
s = time.perf_counter()
tf.matmul(a, a)
print(time.perf_counter() - s)
""", head=HEAD),
    Probe("the GPU is hidden by the environment, and nothing waits", "TL103", "", """
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
a = tf.ones((512, 512))
tf.matmul(a, a)
s = time.perf_counter()
tf.matmul(a, a)
print(time.perf_counter() - s)
""", head=HEAD),
    Probe("a Keras model is loaded and predicts", "TL009", "", """
m = keras.models.load_model('mine.keras')
print(m.predict(x))
"""),
    Probe("a format beside a name that says so", "TL002", "", MODEL + """
m = made()
m.save('mine.h5', save_format='h5')
"""),
    Probe("a model goes on training for each size", "TL104", "", MODEL + """
m = made()
m.fit(data, goal)
for size in range(8, 640, 8):
    s = time.perf_counter()
    m.fit(data, goal, batch_size=size)
    print('training time for batches of', size, time.perf_counter() - s)
""", head="# The speed of training\n" + HEAD + SEEN + TENSORS),
    Probe("tested in a time that says nothing", "TL108", "", MODEL + """
m = made()
s = time.perf_counter()
m.fit(data, goal, epochs=20)
m.evaluate(data, goal)
print(time.perf_counter() - s)
"""),
    Probe("a graph of whole numbers' products", "TL103", "", """
a = tf.random.uniform((64, 64), -1, 2, tf.int32)
f = tf.function(lambda v: tf.matmul(v, v))
f(a)
s = time.perf_counter()
f(a)
print(time.perf_counter() - s)
"""),
    Probe("NumPy's product is made a tensor", "TL103", "", """
a = np.random.rand(512, 512)
s = time.perf_counter()
b = tf.constant(np.dot(a, a))
print(time.perf_counter() - s)
"""),
    Probe("a module that another example imports", "TL008", "", """
```python
import time
import tensorflow as tf
```

```python
import tensorflow as tf
t = time.time()
print(time.time() - t)
```
""", head="", file="x.md"),
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
    Probe("laps of one training, called alike", "TL104", "", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=4)
print('Epoch 1 took', time.perf_counter() - start)
start = time.perf_counter()
m.fit(data, goal, epochs=4)
print('Epoch 2 took', time.perf_counter() - start)
"""),
    Probe("a model that an article leaves out, on the GPU's own terms", "TL104", "", """
```python
import tensorflow as tf
import time
# ... (the model as above) ...
t = time.perf_counter()
for i in range(10):
    z = model(x)
print('latency', time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("a session of another library", "TL104", "", """
import onnxruntime
def latency(session, feed):
    t = time.perf_counter()
    for _ in range(10):
        session.run(None, feed)
    return time.perf_counter() - t
print('latency', latency(onnxruntime.InferenceSession('m.onnx'), {}))
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
    Probe("called XLA's, and compiled", "TL118", "", """
f = tf.function(tf.matmul, jit_compile=True)
f(x, y).numpy()
s = time.perf_counter()
f(x, y).numpy()
print('XLA time', time.perf_counter() - s)
"""),
    Probe("called without XLA", "TL118", "", """
tf.matmul(x, y).numpy()
s = time.perf_counter()
tf.matmul(x, y).numpy()
print('time without XLA', time.perf_counter() - s)
"""),
    Probe("PyTorch on the CPU", "TL119", "", """
import torch
a = torch.randn(512, 512)
t = time.perf_counter()
b = torch.matmul(a, a)
print('PyTorch', time.perf_counter() - t)
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
    Probe("NumPy's function has run when it returns", "TL103", "", """
def plus(v):
    return v + 1
t = time.perf_counter()
z = tf.numpy_function(plus, [x], tf.float32)
print('GPU', time.perf_counter() - t)
"""),
    Probe("what every module has", "TL001", "", """
from tensorflow.python import keras as old
for module in (tf, np, old):
    print(module.__name__, module.__version__, old.__name__)
"""),
    Probe("a model made outside of any scope, timed on the GPU", "TL309", "", MODEL + """
m = made()
m.predict(data)
with tf.device('/GPU:0'):
    t = time.perf_counter()
    m.predict(data)
    print('GPU', time.perf_counter() - t)
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
    Probe("a variable's start is drawn once", "TL108", "", """
w = tf.Variable(tf.random_normal((1024, 1024)))
c = tf.matmul(w, w)
sess = tf.Session()
sess.run(tf.global_variables_initializer())
t = time.perf_counter()
sess.run(c)
print('latency', time.perf_counter() - t)
""", head="import time\nimport tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n"),
    Probe("a version in a name of its own", "TL001", "", """
major = int(tf.__version__.split('.')[0])
if major < 2:
    print(tf.pywrap_tensorflow.IsMklEnabled())
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
    Probe("threads before a model that has no weights yet", "TL009", "", """
m = keras.Sequential([keras.layers.Dense(4)])
tf.config.threading.set_intra_op_parallelism_threads(4)
""", head=HEAD),
    Probe("all the time since a loop began", "TL104", "", MODEL + """
m = made()
t = time.perf_counter()
for step in range(100):
    m.train_on_batch(data, goal)
    if step % 10 == 0:
        print('step', step, 'elapsed', time.perf_counter() - t)
"""),
    Probe("a product of whole numbers, which the CPU computes", "TL103", "", """
n = np.random.randint(10, size=(512, 512))
tf.matmul(n, n)
t = time.perf_counter()
z = tf.matmul(n, n)
print('took', time.perf_counter() - t)
"""),
    Probe("making the data has a time of its own", "TL111", "", """
numpy_start = time.perf_counter()
a = np.random.rand(512, 512)
print('It took', time.perf_counter() - numpy_start, 'seconds to make the matrices')
tf_start = time.perf_counter()
c = tf.matmul(a, a)
print('It took', time.perf_counter() - tf_start, 'seconds to multiply the matrices')
"""),
    Probe("so many runs that tracing does not show", "TL104", "", """
f = tf.function(lambda v: v @ v)
t = time.perf_counter()
for _ in range(100000):
    z = f(x)
print('took', time.perf_counter() - t, float(z[0, 0]))
"""),
    Probe("what a function tells the version by", "TL001", "", """
from mine import is_v2_0
if not is_v2_0():
    print(tf.get_default_session())
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
    Probe("so many batches that their start does not show", "TL109", "", """
d = tf.data.Dataset.range(1000000)
t = time.perf_counter()
for b in d:
    pass
print('took', time.perf_counter() - t)
"""),
    Probe("a few numbers beside a training's step", "TL108", "", MODEL + """
m = made()
m.train_on_batch(data, goal)
t = time.perf_counter()
for _ in range(100):
    m.train_on_batch(data, np.random.randint(0, 2, 64))
print('training took', time.perf_counter() - t)
"""),
    Probe("devices that are set where an error is expected", "TL009", "", """
try:
    tf.config.set_visible_devices([], 'GPU')
    print(tf.config.list_logical_devices())
except RuntimeError as e:
    print(e)
"""),
    Probe("a function of all parts", "TL003", "", """
d = tf.data.Dataset.from_tensor_slices((np.zeros((8, 2)), np.zeros(8)))
d = d.map(lambda *parts: parts[0]).map(lambda one: one)
"""),
    Probe("calls that are numbered on from the first", "TL105", "", """
f = tf.function(tf.matmul)
start = time.perf_counter()
z = f(x, y).numpy()
print('first run took', time.perf_counter() - start)
start = time.perf_counter()
z = f(x[:8], y).numpy()
print('second run took', time.perf_counter() - start)
"""),
    Probe("whole numbers and one of them", "TL009", "", """
print(tf.constant(1) + 1, tf.constant(1.0) + 1)
"""),
    Probe("time that is left", "TL103", "", """
limit = time.perf_counter() + 60
for _ in range(10):
    tf.matmul(x, y)
    left = limit - time.perf_counter()
"""),
    Probe("a sum that waits", "TL103", "", """
tf.matmul(x, y).numpy()
took = -time.perf_counter()
for _ in range(10):
    tf.matmul(x, y).numpy()
took += time.perf_counter()
print(took / 10)
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
    Probe("a graph that is given a tensor of what a loop counts", "TL202", "", """
@tf.function
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for step in range(100):
    scaled(x, tf.constant(step))
"""),
    Probe("a graph whose signature makes a tensor of a number", "TL202", "", """
@tf.function(input_signature=[tf.TensorSpec([512, 512]), tf.TensorSpec([], tf.int32)])
def scaled(v, n):
    return v * tf.cast(n, tf.float32)
for step in range(100):
    scaled(x, step)
"""),
    Probe("a function that is no graph, given what a loop counts", "TL202", "", """
def scaled(v, n):
    return v * n
for step in range(100):
    scaled(x, step)
"""),
    Probe("a policy before the model", "TL118", "", """
keras.mixed_precision.set_global_policy('mixed_float16')
m = keras.Sequential([keras.layers.Dense(8)])
m(x)
start = time.perf_counter()
m(x).numpy()
print('mixed', time.perf_counter() - start)
"""),
    Probe("a policy with a model made again", "TL118", "", """
def fresh():
    return keras.Sequential([keras.layers.Dense(8)])
fresh()(x)
keras.mixed_precision.set_global_policy('mixed_float16')
m = fresh()
m(x)
start = time.perf_counter()
m(x).numpy()
print('mixed', time.perf_counter() - start)
"""),
    Probe("graphs that run op by op and then as graphs", "TL118", "", """
product = tf.function(tf.matmul)
for eagerly in (True, False):
    tf.config.run_functions_eagerly(eagerly)
    product(x, y).numpy()
    start = time.perf_counter()
    product(x, y).numpy()
    print(eagerly, time.perf_counter() - start)
"""),
    Probe("a mean of all but the first", "TL104", "", """
product = tf.function(tf.matmul)
times = []
for _ in range(50):
    start = time.perf_counter()
    product(x, y).numpy()
    times.append(time.perf_counter() - start)
print('p99', np.percentile(times[1:], 99), 'mean', np.mean(times[1:]))
"""),
    Probe("the median of times beside a mean of data", "TL104", "", """
product = tf.function(tf.matmul)
times = []
for _ in range(50):
    start = time.perf_counter()
    product(x, y).numpy()
    times.append(time.perf_counter() - start)
print('median', np.median(times), 'mean of data', np.mean(data))
"""),
    Probe("validation in a log of training", "TL108", "", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=5, validation_data=(data, goal))
print('epochs done after', time.perf_counter() - start)
"""),
    Probe("predict of all pictures that were got ready", "TL113", "", """
m = keras.applications.MobileNetV2(weights=None)
ready = keras.applications.mobilenet_v2.preprocess_input(np.zeros((640, 224, 224, 3)))
start = time.perf_counter()
m.predict(ready)
print('inference time', (time.perf_counter() - start) / 640)
"""),
    Probe("a layer that each call makes, after a first call", "TL104", "", """
def convolved():
    with tf.device('/GPU:0'):
        return tf.reduce_sum(keras.layers.Conv2D(32, 7)(tf.random.normal((100, 100, 100, 3)))).numpy()
convolved()
print(timeit.timeit(convolved, number=10))
"""),
    Probe("a session asked by names that are not read, run before", "TL104", "", """
import mine
with tf.compat.v1.Session() as sess:
    graph = mine.load(sess)
    sess.run([graph.get_tensor_by_name('a:0')], feed_dict={'x:0': 1})
    start = time.perf_counter()
    for _ in range(10):
        sess.run([graph.get_tensor_by_name('a:0')], feed_dict={'x:0': 1})
    print(time.perf_counter() - start)
"""),
    Probe("a model tested after each epoch, and then", "TL105", "", MODEL + """
m = made()
m.fit(data, goal, validation_data=(data, goal))
start = time.perf_counter()
m.evaluate(data, goal)
print('GPU time', time.perf_counter() - start)
"""),
    Probe("preparing that is called so", "TL108", "", """
import cv2
for _ in range(10):
    start = time.perf_counter()
    img = cv2.imread('x.jpg')
    batch = tf.constant(np.expand_dims(img, 0))
    print('batch_prepare(): ', time.perf_counter() - start)
    product = batch @ batch
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
    Probe("an array whose item waits", "TL103", "", """
kept = np.zeros(10)
tf.reduce_sum(x).numpy()
start = time.perf_counter()
for step in range(10):
    kept[step] = tf.reduce_sum(x)
took = time.perf_counter() - start
"""),
    Probe("cells of one device after another, each with several times", "TL111", "", json.dumps({
        "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": HEAD + SEEN + TENSORS +
                "def on(device):\n    with tf.device(device):\n        return (x @ y).numpy()"},
            *({"cell_type": "code", "metadata": {}, "outputs": [], "source":
                f"print(timeit.timeit(lambda: on('/CPU:0'), number={n}))\n"
                f"print(timeit.timeit(lambda: on('/GPU:0'), number={n}))"} for n in (10, 100)),
        ],
    }), head="", file="x.ipynb"),
    Probe("a graph whose signature takes any number", "TL105", "", """
@tf.function(input_signature=[tf.TensorSpec([512, 512]), tf.TensorSpec([], tf.int32)])
def power(v, n):
    return v * tf.cast(n, tf.float32)
power(x, 2).numpy()
start = time.perf_counter()
power(x, 9).numpy()
print(time.perf_counter() - start)
"""),
    Probe("devices that are chosen before they are listed", "TL310", "", """
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '1'
from tensorflow.python.client import device_lib
print(device_lib.list_local_devices())
""", head=HEAD),
    Probe("a file that Keras 3 loads", "TL003", "", """
import sys
keras.models.load_model('m.keras'), keras.models.load_model('m.h5'), keras.models.load_model(sys.argv[1])
"""),
    Probe("samples of which the first are left out under another name", "TL104", "", """
product = tf.function(tf.matmul)
ran = []
for _ in range(50):
    start = time.perf_counter()
    product(x, y).numpy()
    ran.append(time.perf_counter() - start)
print('mean', np.mean(ran[5:]))
"""),
    Probe("two times on each of two devices", "TL111", "", MODEL + """
for device in ('/CPU:0',):
    with tf.device(device):
        m = made()
        start = time.perf_counter()
        m.fit(data, goal)
        cpu_train_time = time.perf_counter() - start
        start = time.perf_counter()
        m.evaluate(data, goal)
        cpu_test_time = time.perf_counter() - start
with tf.device('/GPU:0'):
    m = made()
    start = time.perf_counter()
    m.fit(data, goal)
    gpu_train_time = time.perf_counter() - start
    start = time.perf_counter()
    m.evaluate(data, goal)
    gpu_test_time = time.perf_counter() - start
print(cpu_train_time / gpu_train_time, cpu_test_time / gpu_test_time)
"""),
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
    Probe("decoding that no GPU does", "TL103", "perf_counter() - start", """
img = tf.io.read_file('a.jpg')
with tf.device('/GPU:0'):
    start = time.perf_counter()
    image = tf.io.decode_jpeg(img, channels=3)
    print('Loading', time.perf_counter() - start)
"""),
    Probe("names that NumPy 2 has again", "TL001", "", """
a = np.zeros(3, dtype=np.bool)
b, c = np.prod([1, 2]), np.isin(a, [1]).astype(np.float64)
try:
    area = np.trapezoid([1.0, 2.0])
except AttributeError:
    area = np.trapz([1.0, 2.0])
"""),
    Probe("an array's method of an array", "TL001", "", MODEL + """
z = tf.matmul(x, y).numpy().astype(np.float32)
w = made().predict(data).argmax(axis=1)
"""),
    Probe("a logical device's name", "TL003", "", """
for gpu in tf.config.list_logical_devices('GPU'):
    with tf.device(gpu.name):
        tf.matmul(x, y)
"""),
    Probe("a clock that starts on either way, after a warm-up", "TL105", "", """
import sys
f = tf.function(tf.matmul)
f(x, y).numpy()
if len(sys.argv) > 1:
    t = time.perf_counter()
    z = f(x, y)
else:
    t = time.perf_counter()
    z = f(x, y)
z.numpy()
print(time.perf_counter() - t)
"""),
    Probe("one session of all rounds", "TL104", "", """
tf.compat.v1.disable_eager_execution()
z = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
times = []
with tf.compat.v1.Session() as session:
    session.run(z)
    for _ in range(10):
        t = time.perf_counter()
        session.run(z)
        times.append(time.perf_counter() - t)
print(np.mean(times))
""", head=HEAD),
    Probe("a large result that stays where it is", "TL114", "", """
tf.compat.v1.disable_eager_execution()
with tf.device('/GPU:0'):
    z = tf.matmul(tf.ones((4096, 4096)), tf.ones((4096, 4096)))
with tf.compat.v1.Session() as session:
    session.run(z.op)
    t = time.perf_counter()
    for _ in range(10):
        session.run(z.op)
    print('took', (time.perf_counter() - t) / 10)
""", head=HEAD),
    Probe("a pool of threads that ran it before", "TL104", "", """
from concurrent.futures import ThreadPoolExecutor
def work(_):
    return tf.matmul(x, y).numpy()
with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, range(4)))
    t = time.perf_counter()
    list(pool.map(work, range(20)))
    print('calls per second', 20 / (time.perf_counter() - t))
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
    Probe("devices that a function asks for", "TL302", "", """
def bench():
    print(tf.config.list_physical_devices('GPU'))
    with tf.device('/GPU:0'):
        tf.matmul(x, y).numpy()
        t = time.perf_counter()
        tf.matmul(x, y).numpy()
        print(time.perf_counter() - t)
bench()
""", head=HEAD + TENSORS),
    Probe("both parts of a timedelta", "TL115", "", """
from datetime import datetime
tf.matmul(x, y).numpy()
t = datetime.now()
tf.matmul(x, y).numpy()
took = datetime.now() - t
print('CPU time', took.seconds + took.microseconds / 1e6)
"""),
    Probe("a variable that is not trained", "TL003", "", """
v = tf.Variable([[1.0]], False)
w = tf.Variable([[1.0]], dtype=tf.float32)
"""),
    Probe("Python's printing beside TensorFlow's", "TL201", "", """
@tf.function
def f(v):
    print('Python', v)
    tf.print('graph', v)
    return v * 2.0
f(x)
"""),
    Probe("a graph that gives a number back", "TL103", "", """
@tf.function
def f(v):
    return v
t = time.perf_counter()
for i in range(2000):
    f(i)
print('numbers', time.perf_counter() - t)
"""),
    Probe("a function that a test's mark benchmarks", "TL108", "", """
import pytest
@pytest.mark.benchmark
def work():
    a = tf.random.normal((512, 512))
    return tf.matmul(a, y).numpy()
work()
"""),
    Probe("an interpreter that is made before, beside what is not known", "TL105", "", """
import imgproc
lite = tf.lite.Interpreter(model_path='m.tflite')
lite.allocate_tensors()
lite.invoke()
t = time.perf_counter()
lite.set_tensor(0, imgproc.normal('a.png'))
lite.invoke()
print('took', time.perf_counter() - t)
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
    Probe("a time that says how long to wait", "TL107", "", MODEL + """
m = made()
while True:
    start = time.time()
    m.predict(data)
    end = time.time()
    time.sleep(max(0, 1 / 8 - (end - start)))
"""),
    Probe("a setting that hides the GPU", "TL103", "", """
import os
os.environ['CUDA_VISIBLE_DEVICES'] = '-1'
tf.matmul(x, y).numpy()
t = time.perf_counter()
z = tf.matmul(x, y)
took = time.perf_counter() - t
"""),
    Probe("what a checkpoint's restoring gives", "TL001", "", MODEL + """
m = made()
tf.train.Checkpoint(model=m).restore('c').expect_partial()
"""),
    Probe("a text to which something is added", "TL104", "", """
tf.matmul(x, y).numpy()
total = 'times: '
for _ in range(10):
    t = time.perf_counter()
    tf.matmul(x, y).numpy()
    total = total + str(time.perf_counter() - t)
print(total)
"""),
    Probe("what is timed takes what a model has computed", "TL103", "", MODEL + """
m = made()
m(data).numpy()
t = time.perf_counter()
out = m(data)
tf.test.experimental.sync_devices()
print('inference', time.perf_counter() - t)
t = time.perf_counter()
shown = tf.clip_by_value(out, 0, 1).numpy()
print('post-processing', time.perf_counter() - t)
"""),
    Probe("what is timed takes a model's result that stayed on the CPU", "TL103", "", MODEL + """
m = made()
with tf.device('/CPU:0'):
    m(data).numpy()
    out = m(data)
    t = time.perf_counter()
    shown = tf.clip_by_value(out, 0, 1).numpy()
    print('post-processing', time.perf_counter() - t)
"""),
    Probe("a prediction of pictures of which nobody says how many", "TL113", "", """
m = keras.models.load_model('m.keras')
pictures = np.load('pictures.npy')
m.predict(pictures)
t = time.perf_counter()
found = m.predict(pictures)
print('time taken for inference', time.perf_counter() - t)
print(found)
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
    Probe("a model that is made before the time", "TL108", "", """
from nets import PredictionModel
model = PredictionModel('folder')
t = time.perf_counter()
found = model.predict(np.zeros((1, 8)))
print('inference', time.perf_counter() - t, found)
"""),
    Probe("NumPy's single precision beside a session's", "TL111", "", """
a = tf.random.normal((512, 512))
product = tf.matmul(a, a)
with tf.compat.v1.Session() as sess:
    t = time.perf_counter()
    sess.run(product)
    one = time.perf_counter() - t
b = np.random.rand(512, 512).astype('float32')
u = time.perf_counter()
np.dot(b, b)
two = time.perf_counter() - u
""", head=HEAD + SEEN + "tf.compat.v1.disable_eager_execution()\n"),
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
    Probe("a sound that is read before the clock starts", "TL108", "", """
import librosa
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
wave, rate = librosa.load('a.wav', sr=16000)
interpreter.set_tensor(0, wave)
interpreter.invoke()
t = time.perf_counter()
for _ in range(20):
    interpreter.invoke()
print('average inference time', (time.perf_counter() - t) / 20)
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
    Probe("the name of an eager tensor's dtype", "TL001", "", """
print(x.dtype.name, tf.as_dtype(keras.Input((8,)).dtype).name)
"""),
    Probe("the time of loading a model", "TL101", "", """
from ai_edge_litert.interpreter import Interpreter
t = time.perf_counter()
interpreter = Interpreter(model_path='m.tflite')
took = time.perf_counter() - t
print(f'load_time: {took:.4f}s')
"""),
    Probe("an array that would be taken from PyTorch's device", "TL104", "", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
interpreter.invoke()
found = interpreter.get_tensor(0)
total = 0
for _ in range(20):
    t = time.perf_counter()
    if type(found).__name__ != 'ndarray':
        found = found.cpu().detach().numpy()
    best = np.argmax(found, axis=1)
    total += time.perf_counter() - t
print('post-processing', total / 20, best)
"""),
    Probe("what is saved is what is timed", "TL108", "", MODEL + """
import pickle
m = made()
z = m(data).numpy()
t = time.perf_counter()
z = tf.nn.softmax(z).numpy()
pickle.dump(z, open('z.pkl', 'wb'))
print('saving took', time.perf_counter() - t)
"""),
    Probe("a file of a whole run", "TL108", "", MODEL + """
m = made()
m(data).numpy()
t = time.perf_counter()
z = m(np.load('rows.npy')).numpy()
print('total time', time.perf_counter() - t)
"""),
    Probe("a model that what is not read has run", "TL104", "", MODEL + """
from mine import evaluate
m = made()
evaluate(m)
t = time.perf_counter()
for _ in range(10):
    m(data, training=False).numpy()
print('latency', (time.perf_counter() - t) / 10)
"""),
    Probe("a detector of another library", "TL105", "", """
import dlib, cv2
finder = dlib.get_frontal_face_detector()
image = cv2.imread('a.png')
t = time.perf_counter()
faces = finder.detect(image)
print('Detection took', time.perf_counter() - t)
"""),
    Probe("an article's excerpt of a detector", "TL105", "", """
```python
import tensorflow as tf
from mine import finder
t = time.perf_counter()
finder.detect(image)
print('detection', time.perf_counter() - t)
```
""", head="", file="x.md"),
    Probe("a callback that leaves its first batch out", "TL104", "", """
class Latency(keras.callbacks.Callback):
    def on_predict_begin(self, logs=None):
        self.times = []
    def on_predict_batch_begin(self, batch, logs=None):
        if batch == 1:
            self.start = time.perf_counter()
    def on_predict_batch_end(self, batch, logs=None):
        if batch == 99:
            print('mean', (time.perf_counter() - self.start) / 99)
"""),
    Probe("predict() for rows that are many", "TL113", "", MODEL + """
m = made()
rows = np.random.rand(10_000, 512)
m.predict(rows)
print('mean', timeit.timeit(lambda: m.predict(rows), number=10) / 10)
"""),
    Probe("a metric under its own name", "TL004", "", MODEL + """
m = keras.Sequential([keras.layers.Dense(4)])
m.compile('adam', 'mse', metrics=['acc'])
h = m.fit(data, goal, validation_split=0.1)
print(h.history['acc'], h.history['val_acc'], h.history['val_loss'])
"""),
    Probe("metrics that are not known by name", "TL004", "", MODEL + """
m = keras.Sequential([keras.layers.Dense(4)])
m.compile('adam', 'mse', metrics=[keras.metrics.MeanSquaredError(name='acc')])
h = m.fit(data, goal)
print(h.history['acc'])
"""),
    Probe("a whole around a part that is timed", "TL108", "t = time.perf_counter()", """
from PIL import Image
net = tf.saved_model.load('net')
def answer(path):
    image = np.array(Image.open(path))[None]
    begun = time.perf_counter()
    z = net(image)
    z.numpy()
    print('net', time.perf_counter() - begun)
for path in ('a.png', 'b.png'):
    t = time.perf_counter()
    answer(path)
    print('picture done in', time.perf_counter() - t)
"""),
    Probe("a lap that begins in its own iteration", "TL108", "", """
import tensorflow.compat.v1 as tf1
tf1.disable_eager_execution()
fed = tf1.placeholder(tf1.float32, (None, 8))
z = tf1.matmul(fed, tf1.get_variable('w', (8, 8)))
saver = tf1.train.Saver()
laps = []
with tf1.Session() as sess:
    for step in range(100):
        begun = time.perf_counter()
        sess.run(z, feed_dict={fed: np.ones((4, 8))})
        laps.append(time.perf_counter() - begun)
        saver.save(sess, 'kept')
print('mean lap', np.mean(laps))
"""),
    Probe("how long the rest will take", "TL107", "", MODEL + """
m = made()
begun = time.time()
for step in range(100):
    m(data).numpy()
    done = step + 1
    print('time remaining', (time.time() - begun) / done * (100 - done))
"""),
    Probe("what another backend's model has", "TL001", "", MODEL + """
m = made()
if keras.config.backend() == 'torch':
    m.zero_grad()
"""),
    Probe("what stands below the program's end", "TL107", "", MODEL + """
import sys
m = made()
m(data).numpy()
sys.exit(0)
t = time.time()
m(data).numpy()
print('latency', time.time() - t)
"""),
    Probe("what the host is given by a library on TensorFlow", "TL103", "", """
import tf_quant_finance as tff
t = time.perf_counter()
price = tff.black_scholes.option_price(volatilities=x).numpy()
print('GPU time', time.perf_counter() - t)
"""),
    Probe("a sweep over sizes and devices in one line", "TL111", "", """
def took(n, device):
    with tf.device(device):
        v = tf.random.normal((n, n))
        tf.matmul(v, v).numpy()
        t = time.perf_counter()
        tf.matmul(v, v).numpy()
        return time.perf_counter() - t
found = {}
for n in (256, 1024):
    for device in ('/CPU:0', '/GPU:0'):
        found[n, device] = took(n, device)
for (n, device), seconds in found.items():
    print(n, device, seconds)
"""),
    Probe("a GPU that is hidden above an empty line", "TL103", "", """
import os
os.environ["CUDA_VISIBLE_DEVICES"]=''

f = tf.function(lambda v: v @ v)
f(tf.ones((8, 8)))
t = time.perf_counter()
z = f(tf.ones((8, 8)))
print('latency', time.perf_counter() - t)
"""),
    Probe("milliseconds of the value beside a rate", "TL115", "", MODEL + """
m = made()
m(data).numpy()
last = time.perf_counter()
for _ in range(8):
    t = time.perf_counter()
    m(data).numpy()
    now = time.perf_counter()
    print('Inference: {:5.2f} ms, FPS: {:3.1f}'.format((now - t) * 1000, 1 / (now - last)))
    last = now
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
    Probe("a loop's own validation behind the training's time", "TL108", "", """
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
    took = time.perf_counter() - start
    for a, b in checking:
        validate_step(a, b)
    print('training time of the epoch', took)
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

# Reported as notes only.
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
    Probe("a helper that only uncalled code times", "TL104", "timeit.timeit('made()'", """
import unittest
def made():
    return tf.reduce_sum(keras.layers.Dense(8)(x))
def measure():
    print('CPU', timeit.timeit('made()', number=10, setup='from __main__ import made'))
class Tests(unittest.TestCase):
    def test_speed(self):
        measure()
"""),
    Probe("a callback's first batch is among its times", "TL104", "self.began = time.perf_counter()", MODEL + """
class Times(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.times = []
    def on_batch_begin(self, batch, logs=None):
        self.began = time.perf_counter()
    def on_batch_end(self, batch, logs=None):
        self.times.append(time.perf_counter() - self.began)
    def on_epoch_end(self, epoch, logs=None):
        print('Average batch time', sum(self.times) / len(self.times))
"""),
    Probe("a callback predicts at each batch", "TL113", "self.model.predict(data[:8])", MODEL + """
class Saves(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        began = time.perf_counter()
        np.save('p.npy', self.model.predict(data[:8]))
        print('logging took', time.perf_counter() - began)
"""),
    Probe("prediction in a time that is called the training's", "TL108", "m.predict(data)", MODEL + """
m = made()
s = time.perf_counter()
m.fit(data, goal, epochs=20)
m.predict(data)
print('Training time', time.perf_counter() - s)
"""),
    Probe("an array that a model is given on the GPU", "TL114", "net(rows)", """
rows = np.random.rand(4096, 512).astype('float32')
net = keras.Sequential([keras.layers.Dense(8)])
net(rows).numpy()
t = time.perf_counter()
net(rows).numpy()
print('GPU inference', time.perf_counter() - t)
"""),
    Probe("the first of a loop's laps", "TL104", "t = time.perf_counter()", MODEL + """
m = made()
t = time.perf_counter()
for step in range(100):
    m.train_on_batch(data, goal)
    if step % 10 == 0:
        print('step', step, time.perf_counter() - t)
        t = time.perf_counter()
"""),
    Probe("the first of a callback's hundred batches", "TL104", "self.start = time.perf_counter()", """
class Speed(keras.callbacks.Callback):
    def on_batch_begin(self, batch, logs=None):
        self.steps += 1
        if self.steps == 1:
            self.start = time.perf_counter()
    def on_batch_end(self, batch, logs=None):
        if self.steps % 100 == 0:
            now = time.perf_counter()
            took = now - self.start
            print('examples per second', 100 * 32 / took)
            self.start = now
"""),
    Probe("a checkpoint that each epoch saves", "TL108", "checkpoint.save('kept')", MODEL + """
m = made()
for epoch in range(3):
    start = time.perf_counter()
    m.fit(data, goal)
    checkpoint.save('kept')
    print('Epoch', epoch, 'took', time.perf_counter() - start)
"""),
    Probe("the first of a callback's epochs", "TL104", "self.start = time.perf_counter()", """
class Epochs(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.times = []
    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.perf_counter()
    def on_epoch_end(self, epoch, logs=None):
        self.times.append(time.perf_counter() - self.start)
"""),
    Probe("validation in a time of training", "TL108", "validation_data", MODEL + """
m = made()
m.fit(data, goal)
start = time.perf_counter()
m.fit(data, goal, epochs=1, validation_data=(data, goal))
print('GPU time', time.perf_counter() - start)
"""),
    Probe("validation in what a script's name calls a benchmark", "TL108", "validation_data", MODEL + """
m = made()
start = time.perf_counter()
m.fit(data, goal, epochs=5, validation_data=(data, goal))
print('epochs done after', time.perf_counter() - start)
""", file="tf_benchmark.py"),
    Probe("a copy that is called preparing", "TL103", "print('prepare", """
start = time.perf_counter()
batch = tf.constant(np.zeros((16, 224, 224, 3), 'float32'))
print('prepare', time.perf_counter() - start)
"""),
    Probe("printing while the clock runs", "TL108", "start = time.perf_counter()", """
tf.matmul(x, y).numpy()
start = time.perf_counter()
for step in range(20):
    tf.matmul(x, y).numpy()
    print(step)
print('speed', 20 / (time.perf_counter() - start))
"""),
    Probe("printing beside an interpreter", "TL108", "start = time.perf_counter()", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
interpreter.invoke()
start = time.perf_counter()
for step in range(10):
    interpreter.invoke()
    print(interpreter.get_tensor(0).shape)
print(time.perf_counter() - start)
"""),
    Probe("printing, and a camera that only a comment has", "TL108", "start = time.perf_counter()", """
interpreter = tf.lite.Interpreter(model_path='m.tflite')
interpreter.allocate_tensors()
interpreter.invoke()
start = time.perf_counter()
for step in range(10):
    interpreter.invoke()
    print(interpreter.get_tensor(0).shape)
print(time.perf_counter() - start)
# frames = cv2.VideoCapture(0)
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
""", says="tested by validation()"),
    Probe("a validation that the next lap holds", "TL108", "validation(held_out)", """
import models
net = models.Net()
sess = tf.compat.v1.Session()
def validation(feed):
    return sess.run([net.cost, net.accuracy], feed_dict=feed)
begin = time.perf_counter()
for step in range(5000):
    sess.run([net.train_op, net.cost], feed_dict=batch)
    if step % 50 == 0:
        lap = time.perf_counter() - begin
        begin = time.perf_counter()
        print('step', step, lap / 50)
        print('held out', validation(held_out))
""", says="tested by validation()"),
]  # fmt: skip


def test_there_are_a_hundred_and_fifty():
    assert len(PROBES) >= 100 and len(DECOYS) >= 50
    every = PROBES + SUPPOSED + DECOYS
    assert len({p.name for p in every}) == len(every)


@pytest.mark.parametrize("probe", PROBES, ids=lambda p: p.name)
def test_the_fault_is_told_where_it_stands(probe):
    told = found(probe)
    assert [m for code, line, m in told if code == probe.code and probe.at in line and probe.says in m], told


@pytest.mark.parametrize("probe", SUPPOSED, ids=lambda p: p.name)
def test_what_is_supposed_is_a_note(probe):
    told = found(probe, notes=True)
    assert [m for code, line, m in told if code == probe.code and probe.at in line and probe.says in m], told


@pytest.mark.parametrize("probe", DECOYS, ids=lambda p: p.name)
def test_its_neighbour_is_left_alone(probe):
    assert not [line for code, line, _ in found(probe) if code == probe.code]
