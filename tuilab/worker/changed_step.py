"""Changes a captured step and compares its results: `python -m tuilab.worker.changed_step FOLDER CHANGE
[OUT]`.

Prints JSON. `apart`: the largest relative difference between the results, or between the variables after the
call; null if the unchanged step does not reproduce its own results, for example because it draws random
numbers. `problem`: why the changed step does not run. The changes `float32`, `mixed` and `many` also write
the changed step to the folder OUT.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

from tuilab.captured import AS_CALLED, MANIFEST, SIGNATURE, repeat
from tuilab.model.files import write_bytes, write_text
from tuilab.model.scenario import STEPS_AT_ONCE

Change = Literal["xla", "graph", "float32", "mixed", "many"]


def call(tf: Any, folder: str, change: Change | None, steps: int = 1) -> list[Any]:
    """Load the step from the folder, call it, and return its results and variables as arrays.

    steps: number of steps, in one call if the change is `many`. Without a change, Grappler is off, so ops run
    one by one as in eager mode.
    """
    import numpy as np

    root = tf.saved_model.load(folder)
    concrete = root.signatures[AS_CALLED if AS_CALLED in root.signatures else SIGNATURE]
    rng = np.random.default_rng(0)
    given = {}
    for name, spec in sorted(concrete.structured_input_signature[1].items()):
        shape = [size or 32 for size in spec.shape.as_list()]
        if spec.dtype.is_floating or spec.dtype.is_complex:
            given[name] = tf.constant(rng.normal(size=shape), spec.dtype)
        else:
            given[name] = tf.zeros(shape, spec.dtype)
    options = {"disable_meta_optimizer": change is None, "auto_mixed_precision": change == "mixed"}
    tf.config.optimizer.set_experimental_options(options)
    at_once = steps if change == "many" else 1
    step = tf.function(lambda: repeat(tf, lambda: concrete(**given), at_once), jit_compile=change == "xla")
    results = [step() for _ in range(steps // at_once)][-1]
    every = [*tf.nest.flatten(results), *root.held]
    return [each.numpy() for each in every if each.dtype.is_floating or each.dtype.is_integer]


def apart(one: list[Any], other: list[Any]) -> float:
    """Return the largest difference between two calls' arrays, relative to each array's largest value."""
    import numpy as np

    found = 0.0
    for a, b in zip(one, other, strict=True):
        a, b = a.astype(np.float64), b.astype(np.float64)
        size = float(np.max(np.abs(a), initial=0.0)) or 1.0
        found = max(found, float(np.max(np.abs(a - b), initial=0.0)) / size)
    return found


def write(tf: Any, folder: Path, out: Path, change: Change) -> None:
    """Write the changed step to `out`. The change `float32` edits the graph; the other changes edit only the
    manifest.
    """
    shutil.copytree(folder, out)
    if change != "float32":
        manifest = json.loads((out / MANIFEST).read_text())
        manifest |= {"mixed": True} if change == "mixed" else {"steps": STEPS_AT_ONCE}
        write_text(out / MANIFEST, [json.dumps(manifest)])
        return
    from tensorflow.core.protobuf import saved_model_pb2

    (out / "fingerprint.pb").unlink(missing_ok=True)
    model = saved_model_pb2.SavedModel.FromString((out / "saved_model.pb").read_bytes())
    types = {tf.float64.as_datatype_enum: tf.float32, tf.complex128.as_datatype_enum: tf.complex64}
    narrow(tf, model, types)
    write_bytes(out / "saved_model.pb", model.SerializeToString())
    prefix = str(out / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    names = sorted(reader.get_variable_to_shape_map())
    values = [tf.constant(reader.get_tensor(name)) for name in names]
    values = [tf.cast(each, types.get(each.dtype.as_datatype_enum, each.dtype)) for each in values]
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=[""] * len(names), tensors=values)


def narrow(tf: Any, message: Any, types: dict[int, Any]) -> None:
    """Replace dtypes throughout a SavedModel message. types: new dtypes, by the enum value of the old
    dtype.
    """
    if message.DESCRIPTOR.full_name == "tensorflow.TensorProto":
        if message.dtype in types:
            array = tf.make_ndarray(message)
            message.CopyFrom(tf.make_tensor_proto(array, types[message.dtype]))
        return
    for field, value in message.ListFields():
        repeated = hasattr(value, "extend")
        if field.enum_type is not None and field.enum_type.full_name == "tensorflow.DataType":
            if repeated:
                value[:] = [types[one].as_datatype_enum if one in types else one for one in value]
            elif value in types:
                setattr(message, field.name, types[value].as_datatype_enum)
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for each in value.values():
                    narrow(tf, each, types)
        elif field.message_type is not None:
            for each in value if repeated else (value,):
                narrow(tf, each, types)


def main(folder: str, change: Change, out: str = "") -> None:
    import tensorflow as tf

    steps = STEPS_AT_ONCE if change == "many" else 1
    plain = call(tf, folder, None, steps)
    repeats = apart(plain, call(tf, folder, None, steps)) == 0
    said: dict[str, object] = {"apart": None, "problem": ""}
    try:
        if out:
            write(tf, Path(folder), Path(out), change)
        changed = call(tf, out or folder, change, steps)
        said["apart"] = apart(plain, changed) if repeats else None
    except Exception as error:
        said["problem"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    print(json.dumps(said))


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
