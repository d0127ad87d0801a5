"""Scenes for the placement tests, run in a process of their own with two logical CPUs; prints JSON.

Each scene says what was observed and, where there is one, the truth from another source: the partitioned
graph as TensorFlow's run metadata give it for a function of its own, or what hooks and counters show.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from tests.worker.placement.pairs import PAIRS
from tuilab.model.arms import Arm
from tuilab.worker.channel import Channel
from tuilab.worker.context import Context
from tuilab.worker.placement import Observation, observe
from tuilab.worker.placement.forced import forced
from tuilab.worker.placement.registry import look_up
from tuilab.worker.start import start
from tuilab.workloads.base import Case

SIDE = 50
BYTES = SIDE * SIDE * 4


def main() -> None:
    os.environ["TUILAB_LOGICAL_CPUS"] = "2"
    channel = Channel.from_stdio()
    context = Context(Channel(0, os.open(os.devnull, os.O_WRONLY)))
    start(context)
    told = {scene.__name__: scene(context) for scene in SCENES}
    os.write(channel._write_fd, json.dumps(told).encode())


def seen(context: Context, case: Case, device: str = "CPU:0") -> dict[str, Any]:
    with case.scope():
        case.call()
    return told(observe(context, case, Arm(device, "graph")))


def told(observation: Observation) -> dict[str, Any]:
    return {
        "nodes": msgspec.to_builtins(observation.nodes),
        "forecast": msgspec.to_builtins(observation.forecast),
        "device": observation.device,
        "ops": observation.ops,
        "folded": observation.folded,
        "copies": observation.copies,
        "copied": observation.copied,
        "reason": observation.reason,
    }


def split_function(tf: Any) -> Callable[[Any], Any]:
    def split(a: Any) -> Any:
        with tf.device("/CPU:1"):
            product = tf.matmul(a, a)
            root = tf.sqrt(tf.abs(product))
        with tf.device("/CPU:0"):
            return tf.reduce_sum(product) + tf.reduce_sum(root[0])

    function: Callable[[Any], Any] = tf.function(split)
    return function


def split(context: Context) -> dict[str, Any]:
    """A function over two devices; truth: sends and receives of the partitions, by run metadata."""
    from tensorflow.python.eager import context as eager

    tf = context.tf
    a = tf.random.normal((SIDE, SIDE))
    function = split_function(tf)
    out = seen(context, Case(call=lambda: function(a)))
    fresh = split_function(tf)
    eager.enable_run_metadata()
    fresh(a)
    metadata = eager.export_run_metadata()
    eager.disable_run_metadata()
    ends: dict[str, list[list[str]]] = {"sends": [], "receives": []}
    for partition in metadata.partition_graphs:
        for node in partition.node:
            if node.op in ("_Send", "_Recv"):
                names = [node.attr[key].s.decode() for key in ("send_device", "recv_device", "_src", "_dst")]
                names[:2] = [name.rpartition("/device:")[2] for name in names[:2]]
                ends["sends" if node.op == "_Send" else "receives"].append(names)
    return {**out, **ends}


def variable(context: Context) -> dict[str, Any]:
    """A variable on CPU:0 used by a function that asks for CPU:1."""
    tf = context.tf
    with tf.device("/CPU:0"):
        held = tf.Variable(tf.ones((SIDE, SIDE)))
    function = tf.function(lambda: tf.matmul(held, tf.ones((SIDE, SIDE))))
    return seen(context, Case(call=function, scope=lambda: tf.device("/CPU:1")), "CPU:1")


def eager_copies(context: Context) -> dict[str, Any]:
    """Eager ops on CPU:1 that take a tensor of CPU:0 which each call makes anew."""
    tf = context.tf
    with tf.device("/CPU:0"):
        source = tf.ones((SIDE, SIDE))

    def call() -> Any:
        with tf.device("/CPU:0"):
            made = tf.identity(source)
        with tf.device("/CPU:1"):
            return tf.matmul(made, made)

    return seen(context, Case(call=call), "CPU:1")


def fused(context: Context) -> dict[str, Any]:
    """Products that the optimiser fuses with their bias and activation."""
    tf = context.tf
    bias = tf.ones((SIDE,))
    kernel, image = tf.random.normal((3, 3, 4, SIDE)), tf.random.normal((1, 16, 16, 4))

    @tf.function
    def dense(x: Any) -> Any:
        return tf.nn.relu(tf.nn.bias_add(tf.matmul(x, x), bias))

    @tf.function
    def convolved(x: Any) -> Any:
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))

    a = tf.random.normal((SIDE, SIDE))
    return {
        "dense": seen(context, Case(call=lambda: dense(a))),
        "convolved": seen(context, Case(call=lambda: convolved(image))),
    }


def eager_resident(context: Context) -> dict[str, Any]:
    """As before, but the tensor stands since the first call: the runtime keeps its copy."""
    tf = context.tf
    with tf.device("/CPU:0"):
        source = tf.ones((SIDE, SIDE))

    def call() -> Any:
        with tf.device("/CPU:1"):
            return tf.matmul(source, source)

    return seen(context, Case(call=call), "CPU:1")


def xla_copies(context: Context) -> dict[str, Any]:
    """An XLA program on CPU:1 that takes a tensor of CPU:0 which each call makes anew."""
    tf = context.tf
    with tf.device("/CPU:0"):
        source = tf.ones((SIDE, SIDE))
    program = tf.function(lambda x: tf.sin(x), jit_compile=True)

    def call() -> Any:
        with tf.device("/CPU:0"):
            made = tf.identity(source)
        with tf.device("/CPU:1"):
            return program(made)

    return seen(context, Case(call=call), "CPU:1")


def asked_copy(context: Context) -> dict[str, Any]:
    """A copy that the code asks for with no op."""
    tf = context.tf
    with tf.device("/CPU:0"):
        source = tf.ones((SIDE, SIDE))
    return seen(context, Case(call=lambda: source._copy_nograd(device_name="CPU:1")))


def composite(context: Context) -> dict[str, Any]:
    """An op made of many, eager and as a graph."""
    tf = context.tf
    signal = tf.random.normal((1, 1_024))

    def stft(x: Any) -> Any:
        return tf.signal.stft(x, 256, 128)

    graph, xla = tf.function(stft), tf.function(stft, jit_compile=True)
    return {
        "eager": seen(context, Case(call=lambda: stft(signal))),
        "graph": seen(context, Case(call=lambda: graph(signal))),
        "xla": seen(context, Case(call=lambda: xla(signal))),
    }


def nested(context: Context) -> dict[str, Any]:
    """A call of a person's own, with a gradient through a function that holds an XLA program."""
    tf = context.tf
    inner = tf.function(lambda x: tf.sin(x) * 2.0, jit_compile=True)
    outer = tf.function(lambda x: inner(x) + 1.0)
    x = tf.ones((4,))

    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(outer(x))
        return tape.gradient(y, x)

    return seen(context, Case(call=call))


def repeated(context: Context) -> dict[str, Any]:
    """The same function three times in a call."""
    tf = context.tf
    function = tf.function(lambda x: tf.exp(x))
    x = tf.ones((4,))
    return seen(context, Case(call=lambda: [function(x) for _ in range(3)]))


def pipeline(context: Context) -> dict[str, Any]:
    """A mapped function, its data set made within a scope; one of its ops asks for a device itself."""
    tf = context.tf

    def mapped(number: Any) -> Any:
        root = tf.sqrt(tf.cast(number, tf.float32))
        with tf.device("/CPU:1"):
            return tf.exp(root)

    with tf.device("/CPU:1"):
        data = tf.data.Dataset.range(1_000).map(mapped).repeat()
        iterator = iter(data)
    return seen(context, Case(call=lambda: next(iterator), datasets=(data,)))


def made_in_call(context: Context) -> dict[str, Any]:
    """A data set that the call itself makes."""
    tf = context.tf
    return seen(context, Case(call=lambda: [*tf.data.Dataset.range(4).map(lambda x: tf.bitwise.invert(x))]))


def python_only(context: Context) -> dict[str, Any]:
    return seen(context, Case(call=lambda: sum(range(10))))


def undisturbed(context: Context) -> dict[str, Any]:
    """What watching leaves behind: hooks, options, traces; also after a call that raises."""
    from tensorflow.python.eager import context as eager
    from tensorflow.python.eager import execute
    from tensorflow.python.framework import ops

    tf, ctx, base = context.tf, eager.context(), ops.EagerTensor.__mro__[1]
    traces = [0]

    def body(x: Any) -> Any:
        traces[0] += 1
        return x + 1

    function = tf.function(body)
    one = tf.ones(())
    function(one)

    def state() -> list[Any]:
        hooks = [execute.execute, ctx.call_function, ctx.function_call_options, ctx.op_callbacks]
        return [*hooks, base._numpy, base._copy_nograd, traces[0]]

    before = state()
    observe(context, Case(call=lambda: function(one)), Arm("CPU:0", "graph"))
    raised = ""
    try:
        observe(context, Case(call=lambda: tf.matmul(one, one)), Arm("CPU:0", "graph"))
    except tf.errors.InvalidArgumentError as error:
        raised = type(error).__name__
    return {"same": [a == b for a, b in zip(before, state(), strict=True)], "raised": raised}


def repeatable(context: Context) -> dict[str, Any]:
    """The same case observed twice."""
    tf = context.tf
    function = split_function(tf)
    a = tf.ones((SIDE, SIDE))
    case = Case(call=lambda: function(a))
    return {"first": seen(context, case), "second": seen(context, case)}


def registry(context: Context) -> dict[str, Any]:
    """For each pair, the kernels as TensorFlow lists them, read in a second way, and its placer's word.

    The placer is asked about the CPU, and about the GPU where there is one.
    """
    return {f"{op} {dtype}": _registered(context, op, dtype) for op, dtype, _, _ in PAIRS}


def _registered(context: Context, op: str, dtype: str) -> dict[str, Any]:
    from tensorflow.python.framework import kernels, op_def_registry

    tf = context.tf
    definition = op_def_registry.get(op)
    known = look_up(op)
    assert known is not None
    attribute = next((a for a in definition.attr if a.name == known.main), None)
    listed = list(attribute.allowed_values.list.type) if attribute is not None else []
    wanted = tf.dtypes.as_dtype(dtype).as_datatype_enum if dtype else None

    def serves(kernel: Any, device: str) -> bool:
        if kernel.device_type != device or kernel.label:
            return False
        limits = {c.name: list(c.allowed_values.list.type) for c in kernel.constraint}
        return wanted is None or known.main not in limits or wanted in limits[known.main]

    registered = kernels.get_registered_kernels_for_op(op).kernel
    types = {known.main: dtype} if dtype else {}
    devices = {"CPU": "/CPU:0", **({"GPU": "/GPU:0"} if context.machine.gpus else {})}
    return {
        "allowed": not listed or wanted is None or wanted in listed,
        "gpu": any(serves(k, "GPU") or serves(k, "DEFAULT") for k in registered),
        "cpu": any(serves(k, "CPU") or serves(k, "DEFAULT") for k in registered),
        "forced": {name: forced(tf, known, types, device) for name, device in devices.items()},
    }


SCENES = (
    registry,
    split,
    variable,
    eager_copies,
    eager_resident,
    fused,
    xla_copies,
    asked_copy,
    composite,
    nested,
    repeated,
    pipeline,
    made_in_call,
    python_only,
    undisturbed,
    repeatable,
)

if __name__ == "__main__":
    sys.exit(main())
