"""The public names of one TensorFlow version: what its worker saw, kept for those who must not import it."""

import msgspec


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """A callable's parameters in order, without `self`."""

    parameters: tuple[str, ...]
    positional: int
    """How many of them may be given by position."""
    rest: bool = False
    """It takes further positional arguments."""
    any_keyword: bool = False
    """It takes further keywords."""


class ApiTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public API of one TensorFlow version."""

    version: str
    """`2.21.0`."""
    keras: str = ""
    """Of the Keras found under `tf.keras`."""
    names: tuple[str, ...]
    """Dotted, sorted, as written after `import tensorflow as tf` (`tf.signal.stft`, `tf.data.Dataset.map`) or
    `import keras` (`keras.saving`), of which each has names that the other has not; a name under which others
    lie is a module or a class and is listed in full."""
    signatures: dict[str, Signature] = {}
    """Of functions, classes (their constructor) and methods; a name without one takes anything."""
    modules: tuple[str, ...] = ()
    """Dotted modules of the installed package (`tensorflow.python.ops.math_ops`), private ones too, and the
    names that their packages import."""
    renames: dict[str, str] = {}
    """TensorFlow's own map from the names of version 1 to those of 2."""
    argument_renames: dict[str, dict[str, str]] = {}
    """Likewise of keywords, by function: `tf.argmax` → {`dimension`: `axis`}."""
    gpu_dtypes: dict[str, tuple[str, ...]] = {}
    """For an op, the dtypes for which this build has a GPU kernel; empty for a build without GPU kernels."""
