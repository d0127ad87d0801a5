"""Lossy compression by ops that have GPU kernels: block quantization, with codes packed into bytes.

Each block stores its smallest value and a step. Each value is stored in 8, 4 or 2 bits, as the number of
steps above the smallest value. The error of a value is at most half a step, plus rounding. TensorFlow flushes
denormal numbers to zero, so a block with a denormal step (values within 3e-36 for 8 bits, 1.8e-37 for 4,
3.5e-38 for 2) is restored as its smallest value.
"""

from typing import Any

SIDE_BYTES = 8
"""Bytes per block in addition to its codes: smallest value and step, float32 each."""


def ratio(block: int, bits: int) -> float:
    return 4 * block / (block * bits / 8 + SIDE_BYTES)


def quantise(tf: Any, blocks: Any, bits: int) -> tuple[Any, Any, Any]:
    """Encode float32 blocks. Return the codes as uint8 of shape (blocks, block · bits / 8), and the smallest
    values and the steps, each of shape (blocks, 1).
    """
    low = tf.reduce_min(blocks, 1, keepdims=True)
    step = (tf.reduce_max(blocks, 1, keepdims=True) - low) / (2**bits - 1)
    codes = tf.round(tf.math.divide_no_nan(blocks - low, step))
    return pack(tf, tf.cast(codes, tf.uint8), bits), low, step


def dequantise(tf: Any, packed: Any, low: Any, step: Any, bits: int) -> Any:
    """Return float32 blocks (blocks, block) from the result of `quantise`."""
    return tf.cast(unpack(tf, packed, bits), tf.float32) * step + low


def pack(tf: Any, codes: Any, bits: int) -> Any:
    """Pack codes below 2^bits of shape (blocks, n) into bytes of shape (blocks, n · bits / 8), with the first
    code of a byte in its lowest bits.
    """
    if bits == 8:
        return codes
    per_byte = 8 // bits
    parts = tf.unstack(tf.reshape(codes, (codes.shape[0], -1, per_byte)), axis=2)
    packed = parts[0]
    for index, part in enumerate(parts[1:], 1):
        shift = tf.constant(index * bits, tf.uint8)
        packed = tf.bitwise.bitwise_or(packed, tf.bitwise.left_shift(part, shift))
    return packed


def unpack(tf: Any, packed: Any, bits: int) -> Any:
    if bits == 8:
        return packed
    mask = tf.constant(2**bits - 1, tf.uint8)
    parts = [
        tf.bitwise.bitwise_and(tf.bitwise.right_shift(packed, tf.constant(shift, tf.uint8)), mask)
        for shift in range(0, 8, bits)
    ]
    return tf.reshape(tf.stack(parts, axis=2), (packed.shape[0], -1))
