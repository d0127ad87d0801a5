"""Forty functions like those that users write, for `tests.benchmarks.functions`. Thirty of these functions
resemble public code.

The comment above each function names the kind of program it imitates. All were written for this file.
"""

import functools
import math
from typing import Annotated, Any, NamedTuple

import keras
import tensorflow as tf

# --- audio -----------------------------------------------------------------------------------------------


# speech recognition front ends: log-mel features
@tf.function
def log_mel(audio, sample_rate=16_000, bins=80):
    spectrum = tf.abs(tf.signal.stft(audio, 400, 160, 512))
    weights = tf.signal.linear_to_mel_weight_matrix(bins, 257, 16_000, 20.0, 7_600.0)
    return tf.math.log(tf.matmul(spectrum, weights) + 1e-6)


# speech recognition front ends: MFCC with an input signature
@tf.function(input_signature=[tf.TensorSpec([None, 8_000], tf.float32)])
def mfcc(audio):
    spectrum = tf.abs(tf.signal.stft(audio, 512, 256))
    weights = tf.signal.linear_to_mel_weight_matrix(40, 257, 16_000)
    return tf.signal.mfccs_from_log_mel_spectrograms(tf.math.log(tf.matmul(spectrum, weights) + 1e-6))


# differentiable synthesis: a bank of harmonic oscillators
def harmonics(amplitudes, f0, *, partials=16):
    phase = tf.cumsum(2.0 * math.pi * f0 / 16_000.0, axis=1)
    ranks = tf.range(1, partials + 1, dtype=tf.float32)
    return tf.reduce_sum(amplitudes * tf.sin(phase[..., None] * ranks), axis=-1)


# differentiable synthesis: a spectral loss at several scales
@tf.function(jit_compile=True)
def spectral_loss(x: tf.TensorSpec([None, 4_096]), y: tf.TensorSpec([None, 4_096])):
    loss = 0.0
    for size in (256, 512):
        a, b = (tf.abs(tf.signal.stft(each, size, size // 4)) for each in (x, y))
        loss += tf.reduce_mean(tf.abs(a - b))
    return loss


# --- vision ----------------------------------------------------------------------------------------------


# detection losses: generalized IoU of boxes
def giou_loss(a, b):
    """Return 1 - GIoU.

    >>> x = tf.random.uniform([512, 2])
    >>> boxes = tf.concat([x, x + 0.5], -1)
    >>> giou_loss(boxes, boxes + 0.1)
    """
    first, last = tf.maximum(a[:, :2], b[:, :2]), tf.minimum(a[:, 2:], b[:, 2:])
    inter = tf.reduce_prod(tf.maximum(last - first, 0.0), -1)
    areas = [tf.reduce_prod(each[:, 2:] - each[:, :2], -1) for each in (a, b)]
    union = areas[0] + areas[1] - inter
    hull = tf.reduce_prod(tf.maximum(a[:, 2:], b[:, 2:]) - tf.minimum(a[:, :2], b[:, :2]), -1)
    return 1.0 - (inter / union - (hull - union) / hull)


# detection losses: focal loss
@tf.function
def focal_loss(logits, targets, alpha=0.25, gamma=2.0):
    p = tf.sigmoid(logits)
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits)
    p_t = targets * p + (1.0 - targets) * (1.0 - p)
    return tf.reduce_mean((alpha * targets + (1 - alpha) * (1 - targets)) * (1.0 - p_t) ** gamma * cross)


# vision transformers: an image as patches
def patches(images, size=16):
    out = tf.image.extract_patches(images, [1, 16, 16, 1], [1, 16, 16, 1], [1, 1, 1, 1], "VALID")
    return tf.reshape(out, [tf.shape(images)[0], -1, 16 * 16 * 3])


# image classification: augmentation of a batch
@tf.function
def augment(image):
    image = tf.image.resize(image, [160, 160])
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    return tf.clip_by_value(image, 0.0, 1.0)


# image quality: SSIM
ssim = functools.partial(tf.image.ssim, max_val=1.0)


# detection: post-processing with non-maximum suppression
def suppress(boxes: int = 512):
    corner = tf.random.uniform((boxes, 2))
    box = tf.concat([corner, corner + 0.2], -1)
    return tf.function(lambda b, s: tf.image.non_max_suppression(b, s, 50)), box, tf.random.uniform((boxes,))


# mixed training data: mixup
def mixup(images, labels, weight):
    w = tf.reshape(weight, [-1, 1, 1, 1])
    return images * w + images[::-1] * (1 - w), labels * weight[:, None] + labels[::-1] * (
        1 - weight[:, None]
    )


# --- language --------------------------------------------------------------------------------------------


# transformer tutorials: scaled dot-product attention
def attention(q, k, v, mask=None):
    logits = tf.matmul(q, k, transpose_b=True) / tf.math.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
    if mask is not None:
        logits += mask * -1e9
    return tf.matmul(tf.nn.softmax(logits), v)


# transformer tutorials: masked sparse loss
@tf.function
def masked_loss(real, pred):
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=real, logits=pred)
    mask = tf.cast(real != 0, tf.float32)
    return tf.reduce_sum(each * mask) / (tf.reduce_sum(mask) + 1.0)


# text classification: a mean of embeddings over ragged sentences
def ragged_mean():
    table = tf.random.normal((1_000, 64))
    ids = tf.ragged.constant([[i % 7, i % 11, 5][: 1 + i % 3] for i in range(64)], dtype=tf.int32)
    return (
        (lambda words, rows: tf.reduce_mean(tf.ragged.map_flat_values(tf.gather, rows, words), 1)),
        ids,
        table,
    )


# speech and handwriting: CTC loss
def ctc(frames: int = 50):
    labels = tf.random.uniform((8, 10), 1, 20, tf.int32)
    logits = tf.random.normal((frames, 8, 21))
    sizes = {"label_length": tf.fill([8], 10), "logit_length": tf.fill([8], frames)}
    return tf.nn.ctc_loss, labels, logits, sizes | {"logits_time_major": True, "blank_index": 20}


# language models: a GELU block as a module with weights
class FeedForward(tf.Module):
    def __init__(self):
        super().__init__()
        self.a = tf.Variable(tf.random.normal((128, 512), stddev=0.05))
        self.b = tf.Variable(tf.random.normal((512, 128), stddev=0.05))

    @tf.function(input_signature=[tf.TensorSpec([None, None, 128], tf.float32)])
    def forward(self, x):
        return tf.nn.gelu(x @ self.a) @ self.b

    @tf.function
    def __call__(self, x):
        return x + self.forward(x)


feed_forward = FeedForward()

# language models: an embedding layer, and multi-head attention, by themselves
embedding = keras.layers.Embedding(2_000, 64)
embedding.build((None, 32))
heads = keras.layers.MultiHeadAttention(4, 16)


# --- graphs ----------------------------------------------------------------------------------------------


# graph networks: mean aggregation over edges
@tf.function
def message_mean(nodes, source, target):
    messages = tf.gather(nodes, source)
    return tf.math.unsorted_segment_mean(messages, target, 256)


# graph attention: softmax over each node's edges
def graph_attention(nodes, source, target, w):
    h = nodes @ w
    logits = tf.nn.leaky_relu(tf.reduce_sum(tf.gather(h, source) * tf.gather(h, target), -1))
    peak = tf.math.unsorted_segment_max(logits, target, 256)
    weight = tf.exp(logits - tf.gather(peak, target))
    total = tf.math.unsorted_segment_sum(weight, target, 256)
    weight /= tf.gather(total, target)
    return tf.math.unsorted_segment_sum(tf.gather(h, source) * weight[:, None], target, 256)


# spectral graph convolution with a sparse adjacency
def sparse_convolution(nodes: int = 256):
    edges = tf.stack([tf.range(nodes, dtype=tf.int64), tf.random.uniform([nodes], 0, nodes, tf.int64)], 1)
    adjacency = tf.sparse.reorder(tf.SparseTensor(edges, tf.ones([nodes]), [nodes, nodes]))
    return tf.sparse.sparse_dense_matmul, adjacency, tf.random.normal((nodes, 64))


# --- probabilistic ---------------------------------------------------------------------------------------


# variational autoencoders: the evidence lower bound
@tf.function
def elbo(x, logits, mean, logvar):
    cross = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), [1])
    kl = -0.5 * tf.reduce_sum(1 + logvar - mean**2 - tf.exp(logvar), 1)
    return tf.reduce_mean(cross + kl)


# Markov chain Monte Carlo: leapfrog steps of a Gaussian
def leapfrog(position, momentum, steps=10):
    for _ in tf.range(steps):
        momentum -= 0.05 * position
        position += 0.1 * momentum
        momentum -= 0.05 * position
    return position, momentum


# mixtures: log density of a diagonal Gaussian mixture
def mixture(x: Annotated[tf.Tensor, tf.TensorSpec([None, 16])], means: tf.TensorSpec([8, 16])):
    distance = tf.reduce_sum((x[:, None] - means[None]) ** 2, -1)
    return tf.reduce_logsumexp(-0.5 * distance, 1)


# --- linear algebra --------------------------------------------------------------------------------------


# eigenvalues: power iteration until it settles
@tf.function
def power_iteration(n=128):
    a = tf.random.stateless_uniform((n, n), [1, 2])
    x = tf.ones((n, 1))
    for _ in tf.range(30):
        x = a @ x
        x /= tf.norm(x)
    return x


# solvers: conjugate gradients with a data-dependent stopping test
def conjugate_gradients(n: int = 128):
    half = tf.random.stateless_normal((n, n), [3, 4])
    a, b = half @ tf.transpose(half) / n + tf.eye(n), tf.ones((n,))

    def solve(a, b):
        x, r = tf.zeros_like(b), b
        p, rs = r, tf.reduce_sum(r * r)
        while rs > 1e-6:
            ap = tf.linalg.matvec(a, p)
            alpha = rs / tf.reduce_sum(p * ap)
            x, r = x + alpha * p, r - alpha * ap
            new = tf.reduce_sum(r * r)
            p, rs = r + new / rs * p, new
        return x

    return solve, (a, b)


# Gaussian processes: Cholesky solve of a kernel matrix
def gaussian_process(x, y):
    kernel = tf.exp(-0.5 * (x - tf.transpose(x)) ** 2) + 0.1 * tf.eye(tf.shape(x)[0])
    return tf.linalg.cholesky_solve(tf.linalg.cholesky(kernel), y)


# state estimation: one Kalman update
class State(NamedTuple):
    mean: Any
    covariance: Any


def kalman(size: int = 16):
    state = State(tf.zeros((size, 1)), tf.eye(size))
    h = tf.random.stateless_normal((4, size), [5, 6])

    def update(state, z):
        s = h @ state.covariance @ tf.transpose(h) + tf.eye(4)
        gain = state.covariance @ tf.transpose(h) @ tf.linalg.inv(s)
        mean = state.mean + gain @ (z - h @ state.mean)
        return State(mean, state.covariance - gain @ h @ state.covariance)

    return update, state, tf.ones((4, 1))


# principal components by SVD
def components(x):
    """Project onto 8 components.

    >>> components(tf.random.normal([128, 32]))
    """
    x -= tf.reduce_mean(x, 0)
    _, _, v = tf.linalg.svd(x)
    return x @ v[:, :8]


# --- reinforcement learning ------------------------------------------------------------------------------


# policy gradients: discounted returns by a scan
@tf.function
def returns(rewards, gamma=0.99):
    return tf.scan(lambda total, r: r + 0.99 * total, rewards, reverse=True)


# PPO: the clipped objective
def ppo_loss(new, old, advantage, /, clip=0.2):
    ratio = tf.exp(new - old)
    return -tf.reduce_mean(tf.minimum(ratio * advantage, tf.clip_by_value(ratio, 0.8, 1.2) * advantage))


# DQN: the temporal difference of a batch, with a network
network = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(4)])


@tf.function
def td_loss(state, action, reward, following):
    target = reward + 0.99 * tf.reduce_max(network(following), 1)
    chosen = tf.reduce_sum(network(state) * tf.one_hot(action, 4), 1)
    return tf.reduce_mean(tf.keras.losses.huber(target[:, None], chosen[:, None]))


# actor critic: generalized advantages
def advantages(steps: int = 64):
    def estimate(rewards, values, gamma=0.99, lam=0.95):
        delta = rewards + gamma * values[1:] - values[:-1]
        return tf.scan(lambda a, d: d + gamma * lam * a, delta, reverse=True)

    return estimate, (tf.random.normal((steps, 16)), tf.random.normal((steps + 1, 16))), {"lam": 0.9}


# --- training, and other ways to write a function --------------------------------------------------------

weights = tf.Variable(tf.random.normal((32, 8)))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights - y) ** 2)
    weights.assign_sub(1e-4 * tape.gradient(loss, weights))
    return loss


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(64, "relu")
        self.outer = keras.layers.Dense(8)

    def call(self, x, training=False):
        return self.outer(self.inner(x))


subclassed = Subclassed()
traced = feed_forward.forward.get_concrete_function()


class Normalizer:
    def __init__(self, epsilon=1e-5):
        self.epsilon = epsilon

    def apply(self, x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + self.epsilon)


def joined(*parts, axis=0):
    return tf.concat(parts, axis)


def recurrent(x, state):
    h, c = state
    gates = tf.concat([x, h], 1)
    c = tf.sigmoid(gates) * c + tf.tanh(gates)
    return tf.tanh(c), c


# --- functions that tuilab rejects with a message --------------------------------------------------------


class Configured:
    def __init__(self, width):
        self.width = width

    def run(self, x):
        return x * self.width


def unfinished(x, y):
    return tf.matmul(x, y)


def names_only(n: int = 4):
    return ["a"] * n
