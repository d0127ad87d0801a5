"""The public names of the installed TensorFlow."""

import ast
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tuilab.model.api import ApiTable, Signature
from tuilab.worker.context import Context
from tuilab.worker.placement.registry import known

# Namespaces that repeat the contents of other namespaces: list their own names, but not their contents.
LEFT_OUT = ("tf.compat.v2", "tf.compat.v1.compat", "tf.compat.v1.keras", "tf.compat.v1.raw_ops", "keras.src")
# Classes in these namespaces inherit hundreds of methods that nobody calls under these names.
WITHOUT_METHODS = ("tf.keras.layers.", "keras.layers.", "tf.compat.v1.")
OPS = (
    "MatMul",
    "BatchMatMulV2",
    "AddV2",
    "Mul",
    "Conv2D",
    "FFT",
    "RFFT",
    "Relu",
    "Tanh",
    "Exp",
    "Sum",
    "Cast",
)
DATA = ("T", "Treal", "SrcT", "Tcomplex")
"""Names of the type attributes of an op's data."""
# Packages whose modules form the public namespace. Any other module found there was exposed by accident.
_PUBLIC = ("tensorflow._api.", "keras._tf_keras.")
# An internal module, present only if something such as the profiler has imported it.
_INSIDE = ("tf.tsl",)
_KERAS = "keras."
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def answer(context: Context, body: bytes) -> Iterator[ApiTable]:
    yield make(context.tf)


def make(tf: Any) -> ApiTable:
    """Return the public names of TensorFlow and Keras without calling any of them. Takes about a second."""
    names: set[str] = set()
    signatures: dict[str, Signature] = {}
    import keras

    # Walk both Keras 3 and `tf.keras`, because each has names that the other lacks.
    for name, thing in (*_walk(tf, "tf", frozenset()), *_walk(keras, "keras", frozenset())):
        names.add(name)
        if isinstance(thing, type) and not name.startswith(WITHOUT_METHODS):
            for method, function in _methods(thing):
                names.add(f"{name}.{method}")
                _sign(signatures, f"{name}.{method}", function, bound=True)
        if callable(thing):
            _sign(signatures, name, thing)
    return ApiTable(
        version=str(tf.__version__),
        keras=str(getattr(tf.keras, "__version__", "")),
        names=tuple(sorted(names)),
        signatures=dict(sorted(signatures.items())),
        modules=tuple(sorted(set(_modules(Path(tf.__file__).parent)))),
        renames=_renames(names),
        argument_renames=_argument_renames(),
        gpu_dtypes=_gpu_dtypes(),
    )


def _walk(module: Any, prefix: str, above: frozenset[int]) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each public attribute of a module and its submodules."""
    above = above | {id(module)}
    # If a lazily loaded module raises because its dependency is missing, users cannot reach it either.
    try:
        words = [word for word in dir(module) if not word.startswith("_")]
    except Exception:
        return
    for word in words:
        name = f"{prefix}.{word}"
        try:
            thing = getattr(module, word)
        except Exception:
            continue
        if name in _INSIDE:
            continue
        yield name, thing
        if name in LEFT_OUT or not isinstance(thing, ModuleType):
            continue
        if id(thing) not in above and _is_public(thing):
            yield from _walk(thing, name, above)


def _is_public(module: ModuleType) -> bool:
    # TensorFlow's lazy loaders wrap a public module without reporting its name.
    name = getattr(module, "__name__", "")
    if name.startswith(_KERAS) and not name.startswith("keras.src"):
        return True
    return name.startswith(_PUBLIC) or "lazy_loader" in type(module).__module__


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the class's public attributes, except those inherited from Python's own classes, which depend
    on the Python version.
    """
    for word in dir(kind):
        owner = next((c for c in kind.__mro__ if word in vars(c)), kind)
        if not word.startswith("_") and owner.__module__ not in ("builtins", "enum"):
            yield word, inspect.getattr_static(kind, word, None)


def _sign(into: dict[str, Signature], name: str, thing: Any, bound: bool = False) -> None:
    if bound and isinstance(thing, (classmethod, staticmethod)):
        bound = isinstance(thing, classmethod)
        thing = thing.__func__
    if bound and not inspect.isroutine(thing):
        return
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (ValueError, TypeError, NameError):
        return
    if bound and parameters and parameters[0].kind in _POSITIONAL:
        del parameters[0]
    kinds = {p.kind for p in parameters}
    plain = [p for p in parameters if p.kind in _POSITIONAL or p.kind is inspect.Parameter.KEYWORD_ONLY]
    into[name] = Signature(
        tuple(p.name for p in plain),
        sum(p.kind in _POSITIONAL for p in plain),
        inspect.Parameter.VAR_POSITIONAL in kinds,
        inspect.Parameter.VAR_KEYWORD in kinds,
    )


def _modules(package: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(package):
        folders[:] = [f for f in folders if f.isidentifier() and f not in ("__pycache__", "include")]
        dotted = ".".join(["tensorflow", *Path(folder).relative_to(package).parts])
        yield dotted
        for file in files:
            stem, _, suffix = file.partition(".")
            if suffix == "py" or suffix.endswith("so"):
                yield f"{dotted}.{stem}"
            if file == "__init__.py":
                yield from (f"{dotted}.{name}" for name in _imported(Path(folder, file)))


def _imported(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for part in ast.walk(tree):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            yield from (a.asname or a.name for a in part.names if "." not in (a.asname or a.name))
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


def _renames(names: set[str]) -> dict[str, str]:
    from tensorflow.tools.compatibility import all_renames_v2

    return {
        old: new
        for old, new in sorted(all_renames_v2.symbol_renames.items())
        if new in names and old not in names
    }


def _argument_renames() -> dict[str, dict[str, str]]:
    from tensorflow.tools.compatibility import tf_upgrade_v2

    renames = tf_upgrade_v2.TFAPIChangeSpec("").function_keyword_renames
    return {
        name: {old: new for old, new in words.items() if new}
        for name, words in sorted(renames.items())
        if name.startswith("tf.") and any(words.values())
    }


def _gpu_dtypes() -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for op in OPS:
        kernels = [kernel.types for kernel in known(op).kernels if kernel.device == "GPU" and not kernel.host]
        found[op] = {dtype for types in kernels for name in DATA for dtype in types.get(name, ())}
    return {op: tuple(sorted(dtypes)) for op, dtypes in found.items() if dtypes}
