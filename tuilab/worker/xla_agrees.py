"""Compare a captured step with itself under XLA: `python -m tuilab.worker.xla_agrees FOLDER` prints JSON.

`apart`: the largest relative difference of a result, or of a variable after the call; null if the step does
not repeat its own results, as one that draws random numbers. `problem`: why it does not run under XLA.
"""

import json
import sys
from typing import Any

from tuilab.captured import AS_CALLED, SIGNATURE


def call(tf: Any, folder: str, xla: bool) -> list[Any]:
    """Load the folder afresh, call its step once; return results and variables as arrays."""
    import numpy as np

    root = tf.saved_model.load(folder)
    concrete = root.signatures[AS_CALLED if AS_CALLED in root.signatures else SIGNATURE]
    rng = np.random.default_rng(0)
    given = {}
    for name, spec in concrete.structured_input_signature[1].items():
        shape = [size or 32 for size in spec.shape.as_list()]
        if spec.dtype.is_floating or spec.dtype.is_complex:
            given[name] = tf.constant(rng.normal(size=shape), spec.dtype)
        else:
            given[name] = tf.zeros(shape, spec.dtype)
    results = tf.function(lambda: concrete(**given), jit_compile=xla)()
    every = [*tf.nest.flatten(results), *root.held]
    return [each.numpy() for each in every if each.dtype.is_floating or each.dtype.is_integer]


def apart(one: list[Any], other: list[Any]) -> float:
    """Return the largest difference of two calls, relative to the largest value of each array."""
    import numpy as np

    found = 0.0
    for a, b in zip(one, other, strict=True):
        a, b = a.astype(np.float64), b.astype(np.float64)
        size = float(np.max(np.abs(a), initial=0.0)) or 1.0
        found = max(found, float(np.max(np.abs(a - b), initial=0.0)) / size)
    return found


def main(folder: str) -> None:
    """Print the comparison."""
    import tensorflow as tf

    plain = call(tf, folder, False)
    said: dict[str, object] = {"apart": None, "problem": ""}
    if apart(plain, call(tf, folder, False)) == 0:
        try:
            said["apart"] = apart(plain, call(tf, folder, True))
        except Exception as error:
            said["problem"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1])
