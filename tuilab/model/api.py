"""The public names of one TensorFlow version: what its worker saw, kept for those who must not import it."""

import msgspec


class Signature(msgspec.Struct, frozen=True, array_like=True):
    """A callable's parameters in order, without `self`.

    positional: how many of them may be given by position. rest: it takes further positional arguments.
    any_keyword: it takes further keywords.
    """

    parameters: tuple[str, ...]
    positional: int
    rest: bool = False
    any_keyword: bool = False


class ApiTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The public API of one TensorFlow version.

    version: `2.21.0`; keras: of the Keras found under `tf.keras`. names: dotted, sorted, as written after
    `import tensorflow as tf` (`tf.signal.stft`, `tf.data.Dataset.map`); a name under which others lie is a
    module or a class and is listed in full.
    signatures: of functions, classes (their constructor) and methods; a name without one takes anything.
    modules: dotted modules of the installed package (`tensorflow.python.ops.math_ops`), private ones too.
    gpu_dtypes: for an op, the dtypes for which this build has a GPU kernel; empty for a build without GPU
        kernels.
    """

    version: str
    keras: str = ""
    names: tuple[str, ...]
    signatures: dict[str, Signature] = {}
    modules: tuple[str, ...] = ()
    gpu_dtypes: dict[str, tuple[str, ...]] = {}
