"""Public names of one TensorFlow version, collected by a worker for code that must not import TensorFlow."""

import msgspec


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """A callable's parameters in order, without `self`."""

    parameters: tuple[str, ...]
    positional: int
    """Number of parameters that may be passed by position."""
    rest: bool = False
    """True if the callable accepts further positional arguments (`*args`)."""
    any_keyword: bool = False
    """True if the callable accepts further keyword arguments (`**kwargs`)."""


class ApiTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: str
    keras: str = ""
    """Version of Keras, as used by `tf.keras`."""
    names: tuple[str, ...]
    """Dotted, sorted names as written after `import tensorflow as tf` (`tf.signal.stft`,
    `tf.data.Dataset.map`) or `import keras` (`keras.saving`). For a module or class, its public members are
    listed too.
    """
    signatures: dict[str, Signature] = {}
    """Signatures of functions, classes (their constructor) and methods.

    A name without a signature accepts any arguments."""
    modules: tuple[str, ...] = ()
    """Dotted names of TensorFlow's modules, including private ones: `tensorflow.python.ops.math_ops`."""
    renames: dict[str, str] = {}
    """TensorFlow's own map from version 1 names to version 2 names."""
    argument_renames: dict[str, dict[str, str]] = {}
    """Keyword renames by function: `tf.argmax` → {`dimension`: `axis`}."""
    gpu_dtypes: dict[str, tuple[str, ...]] = {}
    """For each op, the dtypes for which this build has a GPU kernel; empty for a build without GPU kernels.
    """
