"""Evaluates attribute access (`value.name`) for each kind of value."""

import re

from tuilab.documents.interpreter import modules, names
from tuilab.documents.interpreter.interpreter import Interpreter
from tuilab.documents.interpreter.library import is_keras_3
from tuilab.documents.interpreter.unread import OF_LITE, assumes_keras
from tuilab.documents.interpreter.values import (
    RESULT_OF,
    Api,
    Bound,
    Class,
    DeviceObject,
    Elapsed,
    Function,
    Graph,
    Instance,
    Known,
    Listing,
    Many,
    Model,
    Module,
    OpaqueObject,
    Tensor,
    Unknown,
    Value,
    elements,
)


def attribute(interpreter: Interpreter, value: Value, name: str, line: int) -> Value:
    """Return the value of an attribute. If no such attribute is known, return a method of the value, or
    Unknown.
    """
    match value:
        case Api() if value.name.endswith("flags.FLAGS"):
            interpreter.use(Api(f"{value.name}.{name}", f"{value.spelled}.{name}", value.real), line)
            return Unknown(names.COMMAND_LINE, line)
        case Api():
            return names.member(value, name, line)
        case Module():
            below = modules.member(interpreter, value, name, line)
            return below if below is not None else modules.unread(value, name, line)
        case Tensor():
            return _tensor_attribute(interpreter, value, name, line)
        case Instance():
            return _instance_attribute(interpreter, value, name, line)
        case Class():
            found = value.find(name)
            if isinstance(found, Function) and found.kind == "class":
                return Bound(value, name, found)
            return found if found is not None else Bound(value, name)
        case DeviceObject():
            name_ = f"/{'physical_' if value.physical else ''}device:{value.family}:0"
            known = {"device_type": value.family, "name": name_}
            return Known(known[name]) if name in known else Unknown("a property of a device", line)
        case OpaqueObject(kind=kind) if kind == names.TEXT_DTYPE and name in _OF_DTYPE:
            detail = (
                "the dtype of a symbolic tensor is a string in Keras "
                f"{interpreter.api.keras}: it has no {name}"
            )
            remedy = f"Leave .{name} out." if name == "name" else "Pass it to tf.as_dtype first."
            interpreter.misfit("name", line, detail, remedy, at=name)
            return Unknown("the result of a missing attribute", line)
        case Known(None) if name in _OF_STATUS:
            detail = f"load_weights() in Keras {interpreter.api.keras} returns None, which has no {name}()"
            interpreter.misfit("name", line, detail, f"Leave .{name}() out.", at=name)
            return Unknown("the result of a missing attribute", line)
        case Elapsed():
            if name in ("seconds", "microseconds"):
                interpreter.trace.regions[value.region].parts.setdefault(
                    name, interpreter.document_line(line)
                )
            return Bound(value, name) if name == "total_seconds" else value
        case Function() | Graph() if name == "__name__":
            target = value.target if isinstance(value, Graph) else value
            return Known(target.name) if isinstance(target, Function) else Unknown("a name", line)
        case Model() if name == "optimizer" and not _is_defined(interpreter, name):
            return OpaqueObject("object", "tf.keras.optimizers.Optimizer")
        case Model() if name == "layers" and is_keras_3(interpreter):
            return Many(OpaqueObject("object", LAYER), None)
        case OpaqueObject(kind="object", data=data) if data == LAYER and name in _SHAPES:
            detail = f"a layer of Keras {interpreter.api.keras} has no {name}"
            remedy = f"Use its {name.removesuffix('_shape')}.shape after it has been called."
            interpreter.misfit("name", line, detail, remedy, at=name)
            return Unknown("a shape", line)
        case OpaqueObject(kind="object", data=str(made)) if name == "lr" and ".optimizers." in made:
            interpreter.use(Api(names.OLD_RATE, f"{made.rpartition('.')[2]}.{name}"), line)
            return Unknown(names.OLD_RATE, line)
        case OpaqueObject(kind="history", data=tuple()) if name == "history":
            return OpaqueObject("logs", value.data)
        case Graph() if name == "python_function":
            return value.target
        case Unknown() | Model(assumed=True):
            return _unknown_attribute(interpreter, value, name, line)
        case _:
            return Bound(value, name)


# Attributes of TensorFlow's dtypes.
_OF_DTYPE = ("name", "as_numpy_dtype", "base_dtype", "is_floating", "is_integer", "itemsize")
# Attributes of the object that Keras 2 returns when it loads weights.
_OF_STATUS = (
    "expect_partial",
    "assert_consumed",
    "assert_existing_objects_matched",
    "assert_nontrivial_match",
)
# The class that stands for any layer of a model, and attributes that layers lost in Keras 3.
LAYER = "tf.keras.layers.Layer"
_SHAPES = ("input_shape", "output_shape")


def _is_defined(interpreter: Interpreter, name: str) -> bool:
    return any(function.name == name for function in interpreter.functions)


# For a value that may be one of several such objects, read the attribute of each object.
_MODELS = (Model, Instance)


_EITHER = (Model, Unknown)


def _unknown_attribute(interpreter: Interpreter, value: Unknown | Model, name: str, line: int) -> Value:
    """Return an unknown value, or a TensorFlow object if only TensorFlow objects have an attribute with this
    name.
    """
    options = value.options if isinstance(value, Unknown) else ()
    if options and all(isinstance(option, _MODELS) for option in options):
        found = tuple(attribute(interpreter, option, name, line) for option in options)
        return Unknown("it depends on a condition", line, found)
    whichever = options or (value,)
    given = all(
        isinstance(v, Model) or v.reason.startswith(RESULT_OF) for v in whichever if isinstance(v, _EITHER)
    )
    given = given and all(isinstance(v, _EITHER) for v in whichever) and isinstance(value, Unknown)
    if name == "layers" and given and assumes_keras(interpreter.imported) and is_keras_3(interpreter):
        # If the unknown result of a function has `layers`, it is a Keras model.
        return Many(OpaqueObject("object", LAYER), None)
    owner = names.LEFT.get(name)
    if owner is None or _is_defined(interpreter, name):
        told = (
            name in names.STEPS or name in names.TRAINS or name in ("run", "save", "save_weights", "invoke")
        )
        if isinstance(value, Model) or told or name in OF_LITE:
            return Bound(value, name)
        return Unknown(name_attribute(value.reason, name), value.line)
    interpreter.use(Api(f"{owner}.{name}", name), line)
    if owner == "tf.distribute.Strategy":
        return Bound(OpaqueObject("object", owner), name)
    return Bound(value, name) if isinstance(value, Model) else value


# Finds a name in the reason why a value is unknown: an unknown call, a parameter or an undefined name.
_NAMED = re.compile(
    rf"(?<={RESULT_OF})[\w.]{{1,80}}(?![\w.(])|[\w.]{{1,80}}(?= is (?:a parameter of|not defined|not set))"
)


def name_attribute(reason: str, name: str) -> str:
    """Append an attribute's name to the reason why a value is unknown."""
    return _NAMED.sub(rf"\g<0>.{name}", reason, count=1)


def _tensor_attribute(interpreter: Interpreter, tensor: Tensor, name: str, line: int) -> Value:
    if name == "shape":
        if tensor.shape is None:
            return Unknown("an unknown tensor shape", line)
        sides: list[Value] = [
            Known(s) if s is not None else Unknown("an unknown side", line) for s in tensor.shape
        ]
        return Listing("tuple", sides)
    if name == "dtype" and tensor.inside and interpreter.in_graph() is None and is_keras_3(interpreter):
        return OpaqueObject(names.TEXT_DTYPE, tensor.dtype)
    if name == "dtype":
        return Api(f"tf.{tensor.dtype}") if tensor.dtype else Unknown("an unknown dtype", line)
    if name in ("device", "backing_device"):
        interpreter.event("query", f"tensor.{name}", line, {"value": tensor})
        return Unknown("a device known only at run time", line)
    if name == "ndim" and tensor.shape is not None:
        return Known(len(tensor.shape))
    if name in ("size", "nbytes") and tensor.library == "np":
        count, item = elements(tensor.shape), names.item_bytes(tensor.dtype)
        if count is not None and (name == "size" or item):
            return Known(count if name == "size" else count * (item or 1))
        return Unknown("an unknown array size", line)
    if name == "T":
        shape = tensor.shape[::-1] if tensor.shape is not None else None
        return Tensor(shape, tensor.dtype, tensor.library, tensor.made, tensor.inside)
    return Bound(tensor, name)


def _instance_attribute(interpreter: Interpreter, instance: Instance, name: str, line: int) -> Value:
    if name in instance.attributes:
        return instance.attributes[name]
    found = instance.of.find(name)
    if isinstance(found, Function):
        if found.kind == "property":
            return interpreter.call(found, [instance], {}, line)
        return found if found.kind == "static" else Bound(instance, name, found)
    if isinstance(found, Graph):
        return Bound(instance, name, found)
    if found is not None:
        return found
    base = instance.of.library_base()
    if name == "model" and base.startswith("tf.keras.callbacks."):
        # Keras sets the `model` attribute of its callbacks.
        return instance.attributes.setdefault(name, Model([], line, open=True, assumed=True))
    if name == "layers" and base.startswith("tf.keras.Model") and is_keras_3(interpreter):
        return Many(OpaqueObject("object", LAYER), None)
    if base:
        return Bound(instance, name)
    return Unknown(f"{name} is not set on this {instance.of.name}", line)
