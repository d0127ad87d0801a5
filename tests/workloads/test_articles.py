"""The articles' examples, run as intended, contain the same ops as the corresponding arms.

The compared code is the articles' own: the statements of the example that define the computation, with fewer
images and without obstacles (a pause that never ends, a function that does not exist). `python -m
tests.benchmarks --only fidelity` shows that examples and arms take the same time.
"""

import ast
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2].parent / "shared" / "documents"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs ../shared/documents")

PLUMBING = {"Placeholder", "Const", "Identity", "IdentityN", "NoOp", "ReadVariableOp", "StatefulPartitionedCall",
            "PartitionedCall", "ResourceGather"}  # fmt: skip
SMALL = {"num_samples": 64, "num_images": 64}


def example(document: str, number: int) -> ast.Module:
    (path,) = FOLDER.glob(f"{document}_*.txt")
    code = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)[number - 1]
    return ast.parse("\n".join(line for line in code.splitlines() if not line.startswith("%timeit")))


def run(module: ast.Module, until: str = "", **given: Any) -> dict[str, Any]:
    """Run the example's statements, except loops, up to the statement that names `until`; return the names
    that they bind.
    """
    kept: list[ast.stmt] = []
    for node in module.body:
        text = ast.unparse(node)
        if until and until in text:
            break
        if (
            isinstance(node, ast.For)
            or text.startswith(("print", "start_", "end_", "model.fit"))
            or "timeit" in text
        ):
            continue
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in SMALL:
            node.value = ast.Constant(SMALL[ast.unparse(node.targets[0])])
        if isinstance(node, ast.FunctionDef):
            node.args.defaults = [
                ast.Constant(64) if isinstance(d, ast.Constant) and d.value == 1_000 else d
                for d in node.args.defaults
            ]
            node.body = [line for line in node.body if "time.sleep" not in ast.unparse(line)]
        kept.append(node)
    names: dict[str, Any] = dict(given)
    exec(compile(ast.fix_missing_locations(ast.Module(kept, [])), "<article>", "exec"), names)
    return names


def called(module: ast.Module, function: str) -> ast.Call:
    return next(n for n in ast.walk(module) if isinstance(n, ast.Call) and ast.unparse(n.func) == function)


def evaluated(node: ast.expr, **names: Any) -> Any:
    return eval(compile(ast.fix_missing_locations(ast.Expression(node)), "<article>", "eval"), names)


def ops(tf: Any, function: Any, *arguments: Any) -> Counter[str]:
    if not hasattr(function, "get_concrete_function"):
        function = tf.function(function)
    return of_graph(function.get_concrete_function(*arguments).graph)


def of_graph(graph: Any) -> Counter[str]:
    found = Counter(node.type for node in graph.get_operations())
    for inner in graph._functions.values():
        if getattr(inner, "graph", None) is not None:
            found += of_graph(inner.graph)
    return Counter({op: count for op, count in found.items() if op not in PLUMBING})


def mapped(dataset: Any) -> tuple[list[str], Counter[str]]:
    steps, body = [], Counter[str]()
    while dataset is not None:
        name = type(dataset).__name__.strip("_")
        if name not in (
            "RepeatDataset",
            "OptionsDataset",
        ):  # only our pipeline repeats its data and sets options
            steps.append(name)
        if "Map" in name:
            body += of_graph(dataset._map_func.function.graph)
        dataset = getattr(dataset, "_input_dataset", None)
    return [s for s in reversed(steps) if s != "TensorSliceDataset"], body


@pytest.mark.parametrize(
    ("number", "values"),
    [
        (1, {"samples": 256, "frame_length": 256, "frame_step": 128, "fft_length": 256}),
        (2, {"samples": 4_096, "frame_length": 512, "frame_step": 256, "fft_length": 512}),
        (3, {"samples": 10_240, "frame_length": 512, "frame_step": 256, "fft_length": 512, "filter": True}),
    ],
)
def test_stft(make: Any, tf: Any, number: int, values: dict[str, Any]) -> None:
    module = example("000", number)
    call = called(module, "tf.signal.stft")
    sizes = {k: v for k, v in values.items() if k != "filter"}

    def fir(b: Any, a: Any, x: Any) -> Any:
        return tf.nn.conv1d(x[..., tf.newaxis], b[:, tf.newaxis, tf.newaxis], 1, "SAME")[..., 0]

    def article(x: Any) -> Any:
        if number == 3:
            x = fir(tf.constant([0.1, 0.2, 0.3, 0.2, 0.1]), None, x)
        return evaluated(call, tf=tf, **sizes, audio_input=x, gpu_input=x, filtered_audio=x)

    spec = tf.TensorSpec((1, values["samples"]))
    made = make("stft", "whole", "graph", **values)
    theirs, ours = ops(tf, article, spec), ops(tf, made.case.function, *made.case.arguments)
    assert ours == theirs and theirs["RFFT"] == 1


@pytest.mark.parametrize(("number", "variant"), [(1, "as-written"), (2, "prefetched")])
def test_training(make: Any, tf: Any, number: int, variant: str) -> None:
    names = run(example("001", number), until="model.fit", tf=tf)
    made = make(
        "training",
        variant,
        images=64,
        side=64,
        pixels="float32",
        augment="brightness",
        host_cost=0,
        filters=32,
    )
    steps, body = mapped(names["dataset"])
    ours, our_body = mapped(made.case.datasets[0])
    assert (ours, our_body) == (steps, body)
    model, batch = names["model"], next(iter(names["dataset"]))
    model.train_step(tuple(t[:1] for t in batch))
    theirs = ops(tf, lambda x, y: model.train_step((x, y)), *batch)
    assert ops(tf, made.case.function, *made.case.arguments) - Counter({"Cast": 9}) == theirs - Counter(
        {"Cast": 9}
    )


def test_fine_grained_ops(make: Any, tf: Any) -> None:
    loops = [n for n in ast.walk(example("001", 3)) if isinstance(n, ast.For)]
    x = tf.random.normal((10, 10))
    for variant, loop in zip(("add", "matmul"), loops, strict=True):
        article = loop.body[0].value  # type: ignore[attr-defined]
        theirs = ops(tf, lambda a, b, e=article: evaluated(e, tf=tf, a=a, b=b), x, x)
        made = make("elementwise", variant, "eager", side=10, ops=7)
        ours = ops(tf, made.case.function, *made.case.arguments)
        assert ours == Counter({op: 7 * count for op, count in theirs.items()})


def test_ops_on_the_cpu(make: Any, tf: Any) -> None:
    first, second, third = (example("002", number) for number in (1, 2, 3))
    double = tf.ones((2, 2), tf.float64)
    made = make("matmul", "plain", "eager", m=2, k=2, n=2, dtype="float64")
    theirs = ops(tf, lambda a, b: evaluated(called(first, "tf.matmul"), tf=tf, a=a, b=b), double, double)
    assert ops(tf, made.case.function, *made.case.arguments) == theirs
    call = called(second, "tf.random.normal")
    call.args[0] = ast.Tuple([ast.Constant(1_024)], ast.Load())
    allocated = make("memory", "free", "eager", bytes=2**20, step=2**20, provoke=False)
    assert ops(tf, allocated.case.call) == ops(tf, lambda: evaluated(call, tf=tf))
    one = tf.ones((2, 2))
    both = [called(third, name) for name in ("tf.add", "tf.matmul")]
    theirs = sum(
        (ops(tf, lambda a, b, e=e: evaluated(e, tf=tf, a=a, b=b), one, one) for e in both), Counter()
    )
    detour = make("pingpong", "pinned", "eager", side=2, length=1, detours=1)
    assert ops(tf, detour.case.function, *detour.case.arguments) == theirs


def test_compression(make: Any, tf: Any) -> None:
    called(example("003", 1), "tf.io.compress")
    assert not hasattr(tf.io, "compress")  # the arm uses zlib instead
    made = make("compression", "zlib", "eager", elements=1_024, level=6)
    packed = made.call().numpy().tobytes()
    assert len(zlib.decompress(packed)) == 4 * 1_024
    # The function does not exist, so the arm cannot be compared.
    called(example("003", 2), "gen_custom_ops.gpu_compress")
    assert (
        ops(tf, make("compression", "quantise", elements=1_024).case.function, tf.ones((16, 64)))["Round"]
        == 1
    )
    called(example("003", 3), "tf.config.experimental.get_memory_info")
    assert not make("memory", "free", "eager", provoke=False).facts["memory-info:takes-device-object"]


@pytest.mark.parametrize(
    ("number", "variant", "source"),
    [(1, "as-written", "memory"), (2, "prefetched", "memory"), (3, "prefetched", "tfrecord")],
)
def test_augmentation(make: Any, tf: Any, tmp_path: Path, number: int, variant: str, source: str) -> None:
    names = run(example("004", number), until="tfrecord_file =" if number == 3 else "batch_size = 32", tf=tf)
    if number == 3:
        file = names["create_tfrecord_dataset"](num_images=4, output_file=str(tmp_path / "a.tfrecord"))
        data = names["load_tfrecord_dataset"](32, file)
    else:
        data = names["load_data"](32)
    values = {"images": 64, "side": 256, "pixels": "uint8", "augment": "brightness and flip", "host_cost": 0}
    made = make("input_pipeline", variant, source=source, **values)
    (steps, body), (ours, our_body) = mapped(data), mapped(made.case.datasets[0])
    if variant == "as-written":
        assert ours[-1] == "PrefetchDataset"  # TensorFlow itself adds this to the article's pipeline
        ours = ours[:-1]
    assert ours == steps
    assert our_body == body


def test_there_are_fifteen_examples() -> None:
    assert sum(len(re.findall(r"```python\n", p.read_text())) for p in FOLDER.glob("*.txt")) == 15
