"""The observed placement agrees with the partitioned graph and with known facts about each call."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.analysis.made_runs import begun, machine, placed
from tuilab.analysis.operations import computes
from tuilab.analysis.verdicts import placed_on
from tuilab.model.arms import Arm
from tuilab.model.claims import PlacedOn
from tuilab.model.events import Node
from tuilab.worker.placement.explain import sentence
from tuilab.worker.placement.observe import observe
from tuilab.worker.placement.summary import Observation
from tuilab.workloads.base import Case

pytestmark = pytest.mark.real_worker

SIDE = 50
BYTES = SIDE * SIDE * 4
Seen = Callable[..., Observation]


@pytest.fixture
def seen(tf: Any) -> Seen:
    """Return a function that runs a call once and then observes it, on two logical CPUs."""
    context: Any = SimpleNamespace(tf=tf, machine=machine(gpu=False))

    def observed(call: Callable[[], Any], device: str = "CPU:0", **case: Any) -> Observation:
        made = Case(call=call, **case)
        with made.scope():
            call()
        return observe(context, made, Arm(device, "graph"))

    return observed


def rows(seen: Observation, kind: str = "op") -> list[Node]:
    return [node for node in seen.nodes if node.kind == kind]


def by_op(seen: Observation, op: str) -> Node:
    [node] = [node for node in rows(seen) if node.op == op]
    return node


def explained(seen: Observation) -> None:
    """Assert that every reason has evidence, and that the forecast contains every op that ran."""
    assert all(node.reason and node.evidence for node in rows(seen))
    fused = [node for node in rows(seen) if "in place of" in node.reason]
    assert sum(row.count for row in seen.forecast) - sum(node.count for node in rows(seen)) == len(fused)
    for row in seen.forecast if not fused else ():
        assert {node.gpu for node in rows(seen) if node.op == row.op} == {row.gpu}


def test_a_function_on_two_devices_shows_its_ops_and_exactly_its_copies(seen: Seen, tf: Any) -> None:
    """The expected result is the partitioned graph, from the run metadata of a separate function."""
    from tensorflow.python.eager import context as eager

    def split(a: Any) -> Any:
        with tf.device("/CPU:1"):
            product = tf.matmul(a, a)
            root = tf.sqrt(tf.abs(product))
        with tf.device("/CPU:0"):
            return tf.reduce_sum(product) + tf.reduce_sum(root[0])

    a, function, fresh = tf.random.normal((SIDE, SIDE)), tf.function(split), tf.function(split)
    told = seen(lambda: function(a))
    eager.enable_run_metadata()
    fresh(a)
    metadata = eager.export_run_metadata()
    eager.disable_run_metadata()
    ends: dict[str, list[list[str]]] = {"_Send": [], "_Recv": []}
    for node in (node for partition in metadata.partition_graphs for node in partition.node):
        if node.op in ends:
            names = [node.attr[key].s.decode() for key in ("send_device", "recv_device", "_src", "_dst")]
            ends[node.op].append([name.rpartition("/device:")[2] for name in names])
    copies = rows(told, "copy")
    observed = sorted([copy.device, copy.to, *copy.name.split(" → ")] for copy in copies)
    assert observed == sorted(ends["_Send"]) == sorted(ends["_Recv"]) and len(observed) == 3
    assert {(copy.op, copy.bytes) for copy in copies} == {("_Send/_Recv", BYTES)}
    assert (told.copies, told.copied) == (3, 3 * BYTES)
    assert all(node.device == node.requested for node in rows(told))
    assert by_op(told, "MatMul").device == "CPU:1"
    # A merged op is looked up under the names of the ops that it replaced.
    assert all(node.gpu for node in rows(told) if node.op == "_UnaryOpsComposition")
    explained(told)
    assert seen(lambda: function(a)) == told


def test_a_fused_op_is_still_the_op_that_does_the_work(seen: Seen, tf: Any) -> None:
    """The log shows the optimized op, but a document's statements about the original op still apply."""
    bias, kernel = tf.ones((SIDE,)), tf.random.normal((3, 3, 4, SIDE))
    products = {
        "MatMul": (lambda x: tf.matmul(x, x), (SIDE, SIDE)),
        "Conv2D": (lambda x: tf.nn.conv2d(x, kernel, 1, "SAME"), (1, 16, 16, 4)),
    }
    for op, (product, shape) in products.items():
        x = tf.random.normal(shape)
        function = tf.function(lambda x, product=product: tf.nn.relu(tf.nn.bias_add(product(x), bias)))
        told = seen(lambda function=function, x=x: function(x))
        [made] = [node for node in rows(told) if computes(node.op) == op]
        assert made.op == f"_Fused{op}" and made.gpu is not None
        arm = Arm("CPU:0", "graph")
        found, evidence = placed_on(
            PlacedOn(op=op, device="CPU"), placed(begun([arm], gpu=False), arm, *told.nodes)
        )
        assert found == "confirmed"
        assert evidence == f"Of 1 {op} op observed (fused, as _Fused{op}), 1 on CPU:0."


def test_a_variable_keeps_its_ops_on_its_device(seen: Seen, tf: Any) -> None:
    with tf.device("/CPU:0"):
        held = tf.Variable(tf.ones((SIDE, SIDE)))
    function = tf.function(lambda: tf.matmul(held, tf.ones((SIDE, SIDE))))
    told = seen(function, "CPU:1", scope=lambda: tf.device("/CPU:1"))
    read, [copy] = by_op(told, "ReadVariableOp"), rows(told, "copy")
    assert (read.requested, read.device) == ("CPU:1", "CPU:0")
    assert "variable or resource is on CPU:0" in read.reason
    assert (copy.device, copy.to, copy.bytes, copy.count) == ("CPU:0", "CPU:1", BYTES, 1)
    assert told.device == "CPU:1"
    explained(told)


def test_copies_are_rows_with_bytes_unless_made_once_in_the_first_call(seen: Seen, tf: Any) -> None:
    """Covers an eager op and an XLA program that create their input tensor in each call, and a call without
    any op.
    """
    with tf.device("/CPU:0"):
        source = tf.ones((SIDE, SIDE))
    program = tf.function(lambda x: tf.sin(x), jit_compile=True)

    def copied(use: Callable[[Any], Any]) -> Any:
        with tf.device("/CPU:0"):
            made = tf.identity(source)
        with tf.device("/CPU:1"):
            return use(made)

    def resident() -> Any:
        with tf.device("/CPU:1"):
            return tf.matmul(source, source)

    eager = seen(lambda: copied(lambda made: tf.matmul(made, made)), "CPU:1")
    xla = seen(lambda: copied(program), "CPU:1")
    asked = seen(lambda: source._copy_nograd(device_name="CPU:1"))
    for told in (eager, xla, asked):
        [copy] = rows(told, "copy")
        assert (copy.device, copy.to, copy.bytes, copy.count) == ("CPU:0", "CPU:1", BYTES, 1)
    assert "MatMul" in rows(eager, "copy")[0].name and all(n.reason and n.evidence for n in rows(eager))
    assert by_op(xla, "XLA program").device == "CPU:1" and asked.device is None
    standing = seen(resident, "CPU:1")
    assert rows(standing, "copy") == [] and by_op(standing, "MatMul").device == "CPU:1"


def test_a_composite_op_is_seen_op_by_op_and_as_compiled(seen: Seen, tf: Any) -> None:
    signal = tf.random.normal((1, 1_024))

    def stft(x: Any) -> Any:
        return tf.signal.stft(x, 256, 128)

    in_graph, compiled = tf.function(stft), tf.function(stft, jit_compile=True)
    eager = seen(lambda: stft(signal))
    assert {"RFFT", "GatherV2", "Cos", "Reshape", "Mul"} <= {node.op for node in rows(eager)}
    assert eager.ops == sum(node.count for node in rows(eager)) >= 40 and eager.folded == 0

    graph = seen(lambda: in_graph(signal))
    assert [node.op for node in rows(graph)].count("RFFT") == 1 and graph.ops <= 6
    folded = rows(graph, "folded")
    assert graph.folded == len(folded) >= 30
    cosine = next(node for node in folded if node.op == "Cos")
    assert cosine.reason == "computed once, when the graph was optimized"
    assert not {node.name for node in folded} & {node.name for node in rows(graph)}

    xla = seen(lambda: compiled(signal))
    program = by_op(xla, "XLA program")
    assert (program.name, program.device, xla.ops) == ("stft", "CPU:0", 1)
    operations = {node.op: node for node in rows(xla) if node.op.startswith("hlo ")}
    assert "hlo fft" in operations and any(", from RFFT" in node.name for node in operations.values())
    assert {node.reason for node in operations.values()} == {"inside the XLA program"}  # one group


def test_an_own_call_shows_its_functions_and_eager_ops_with_counts(seen: Seen, tf: Any) -> None:
    """Covers a gradient through a function with an XLA program, and a function that is called three
    times.
    """
    inner = tf.function(lambda x: tf.sin(x) * 2.0, jit_compile=True)
    outer, power = tf.function(lambda x: inner(x) + 1.0), tf.function(lambda x: tf.exp(x))
    x = tf.ones((4,))

    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(outer(x))
        return tape.gradient(y, x)

    told = seen(call)
    ops = [node.op for node in rows(told)]
    assert ops.count("XLA program") == 2  # forward and backward
    assert {"AddV2", "Sum", "Tile"} <= set(ops) and "Sin" not in {node.op for node in told.nodes}
    assert by_op(seen(lambda: [power(x) for _ in range(3)]), "Exp").count == 3


def test_a_forecast_names_the_ops_that_a_fused_op_replaces(seen: Seen, tf: Any) -> None:
    function = tf.function(lambda x: tf.reduce_mean(tf.square(tf.tanh(tf.matmul(x, x)))))
    x = tf.ones((64, 64))
    told = seen(lambda: function(x))
    fused = by_op(told, "_UnaryOpsComposition")
    assert fused.count == 1 and "in place of Tanh and Square, which a GPU would run" in fused.reason
    ops = {row.op: (row.count, row.gpu) for row in told.forecast}
    assert ops == dict.fromkeys(("MatMul", "Tanh", "Square", "Mean"), (1, True))


def test_ops_of_a_branch_in_a_loop_are_counted_as_an_upper_limit(seen: Seen, tf: Any) -> None:
    @tf.function
    def loop(x: Any) -> Any:
        def body(at: Any, x: Any) -> Any:
            branch = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.tanh(x), lambda: tf.exp(x))
            return at + 1, tf.sqrt(branch)

        return tf.while_loop(lambda at, _: at < 50, body, (0, x))[1]

    told = seen(lambda: loop(tf.ones(64)))
    may_run = {row.op for row in told.forecast if row.at_most}
    assert may_run == {"Tanh", "Exp"}
    assert {by_op(told, op).count for op in (*may_run, "Sqrt")} == {50}
    assert "in a branch" in by_op(told, "Tanh").reason and "in a branch" not in by_op(told, "Sqrt").reason
    assert sentence(told.forecast).count("counting every branch") == 1


def test_a_mapped_function_runs_on_the_host(seen: Seen, tf: Any) -> None:
    """The device scope around the dataset's creation has no effect; only an op that itself requests a device
    runs elsewhere.
    """

    def mapped(number: Any) -> Any:
        root = tf.sqrt(tf.cast(number, tf.float32))
        with tf.device("/CPU:1"):
            return tf.exp(root)

    with tf.device("/CPU:1"):
        data = tf.data.Dataset.range(1_000).map(mapped).repeat()
        iterator = iter(data)
    told = seen(lambda: next(iterator), datasets=(data,))
    root = by_op(told, "Sqrt")
    assert (root.device, root.gpu) == ("CPU:0", False)
    assert "the input pipeline runs on the host" in root.reason
    assert by_op(told, "Exp").device == "CPU:1" and by_op(told, "IteratorGetNext").count == told.ops == 1
    explained(told)
    in_call = seen(lambda: [*tf.data.Dataset.range(4).map(lambda x: tf.bitwise.invert(x))])
    assert "input pipeline" in by_op(in_call, "Invert").reason


def test_code_without_tensorflow_has_no_device(seen: Seen) -> None:
    assert seen(lambda: sum(range(10))) == Observation(nodes=(), device=None)


def test_observing_placement_leaves_nothing_behind(seen: Seen, tf: Any) -> None:
    """No hook, option or second trace remains, even after a call that raises an error."""
    from tensorflow.python.eager import context as eager
    from tensorflow.python.eager import execute
    from tensorflow.python.framework import ops

    ctx, base, traces, one = eager.context(), ops.EagerTensor.__mro__[1], [], tf.ones(())

    def body(x: Any) -> Any:
        traces.append(x)
        return x + 1

    def state() -> list[Any]:
        hooks = [execute.execute, ctx.call_function, ctx.function_call_options, ctx.op_callbacks]
        return [*hooks, base._numpy, base._copy_nograd, len(traces)]

    function, raises = tf.function(body), [False, True]
    function(one)
    before = state()
    seen(lambda: function(one))
    with pytest.raises(tf.errors.InvalidArgumentError):
        seen(lambda: raises.pop(0) and tf.matmul(one, one))
    assert state() == before
