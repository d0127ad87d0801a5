"""Finds the graphs of called functions, specialized to the shapes in the call."""

from collections.abc import Iterable, Sequence
from typing import Any

from tuilab.model.arithmetic import Shape
from tuilab.model.ops import BRANCHES, CALLS, LOOPS
from tuilab.worker.measure.optimised import shape_of

HANDLES = ("resource", "variant")
"""Dtypes of tensors that stand for a variable or a list, so their shapes do not tell their sizes."""


def functions_of(op: Any) -> list[str]:
    """Return the names of the functions that an op calls: for a loop, its body; for a branch, each choice."""
    if op.type in CALLS:
        return [op.get_attr("f").name]
    if op.type in LOOPS:
        return [op.get_attr("body").name]
    if op.type not in BRANCHES:
        return []
    if op.type.endswith("If"):
        return [op.get_attr("then_branch").name, op.get_attr("else_branch").name]
    return [function.name for function in op.get_attr("branches")]


def own_arguments(concrete: Any, arguments: Iterable[Any]) -> list[Any]:
    """Return the arguments of a call as the inputs that a concrete function does not capture."""
    import tensorflow as tf

    given = [t for t in tf.nest.flatten(list(arguments), expand_composites=True) if hasattr(t, "shape")]
    return given[: len(concrete.graph.inputs) - len(concrete.captured_inputs)]


def own_results(concrete: Any) -> list[Any]:
    """Return the results that reach the caller of a concrete function. Under a tape, its graph also returns
    the tensors that its gradient needs.
    """
    import tensorflow as tf

    results = tf.nest.flatten(concrete.structured_outputs, expand_composites=True)
    return [t for t in results if getattr(t, "graph", None) is concrete.graph]


def called(graph: Any, name: str, operands: Sequence[Any]) -> Any:
    """Return the graph of a function, retraced with the shapes of `operands` if it has unknown dimensions.

    Raises LookupError.
    """
    known = getattr(graph._get_function(name), "graph", None)
    if (inner := known) is None:
        with graph.as_default():  # the graph may call its functions by name, like ops
            inner = graph_of(name, [shape_of(t) for t in operands])
    if inner is None:
        raise LookupError(name)
    pairs = list(zip(inner.inputs, operands, strict=False))
    if all(
        behind(own) or not behind(given)
        if own.dtype.name in HANDLES
        else own.shape.is_fully_defined() or not given.shape.is_fully_defined()
        for own, given in pairs
    ):
        return inner
    shapes = [shape_of(own if given.dtype.name in HANDLES else given) for own, given in pairs]
    try:
        return with_shapes(inner, [t.name for t in inner.outputs], shapes, operands)[0]
    except Exception:  # a graph that cannot be retraced is counted as it is
        return inner


def behind(handle: Any) -> list[Any]:
    """Return the shapes and dtypes of the variable or list behind a handle; [] if they are unknown. Functions
    of a SavedModel do not record them.
    """
    from tensorflow.python.ops import handle_data_util

    data = handle_data_util.get_handle_data(handle)
    return list(data.shape_and_type) if data is not None and data.is_set else []


def with_shapes(
    graph: Any, outputs: Sequence[str], shapes: Sequence[Shape], operands: Sequence[Any] = ()
) -> tuple[Any, list[Any]]:
    """Return a copy of the graph with these input shapes (None: unchanged), and its outputs with these names.

    operands: the arguments of the call, whose handles may show shapes that the graph lacks.
    """
    import tensorflow as tf
    from tensorflow.python.framework import func_graph
    from tensorflow.python.ops import handle_data_util

    anew = func_graph.FuncGraph(graph.name)
    definition = graph.as_graph_def()
    with anew.as_default():
        for name in [f.signature.name for f in definition.library.function]:
            anew._add_function(graph._get_function(name))
        inputs = {}
        for index, tensor in enumerate(graph.inputs):
            shape = shapes[index] if index < len(shapes) else None
            made = tf.compat.v1.placeholder(tensor.dtype, tensor.shape if shape is None else shape)
            if tensor.dtype.name in HANDLES:
                told = index < len(operands) and operands[index].dtype == tensor.dtype
                handle_data_util.copy_handle_data(operands[index] if told else tensor, made)
            anew.inputs.append(made)
            inputs[tensor.op.name] = made
        wanted = [*outputs, *(t.name for t in graph.outputs), *(op.name for op in graph.control_outputs)]
        results = tf.graph_util.import_graph_def(
            definition,
            input_map={f"{name}:0": tensor for name, tensor in inputs.items()},
            name="",
            return_elements=wanted,
        )
    anew.outputs = list(results[len(outputs) : len(outputs) + len(graph.outputs)])
    anew.control_outputs = list(results[len(outputs) + len(graph.outputs) :])
    return anew, list(results[: len(outputs)])


def graph_of(name: str, shapes: Sequence[Shape] = ()) -> Any:
    """Return the graph of a runtime function for arguments of these shapes; None if there is none."""
    import tensorflow as tf
    from tensorflow.python.eager import context
    from tensorflow.python.framework import function_def_to_graph

    given = [tf.TensorShape(shape) for shape in shapes] or None
    try:
        return function_def_to_graph.function_def_to_graph(
            context.context().get_function_def(name), input_shapes=given, include_library_functions=True
        )
    except Exception:  # an unreadable function is reported as not counted
        return None
