import re

import pytest

from tests.documents.expected import DATA, documents, report_of
from tuilab.catalogue.load import read_bytes
from tuilab.documents import dumps, read, write
from tuilab.documents.api.tables import shipped

PRESETS = [preset for document in documents() for preset in report_of(document).presets]


def test_there_are_many():
    assert len(PRESETS) >= 15


@pytest.mark.parametrize("preset", PRESETS, ids=lambda p: p.name)
def test_a_written_preset_reads_back_as_it_was(preset):
    back = read_bytes(dumps(preset).encode(), "x.toml", preset.name)
    assert back == preset


def test_files_and_names(tmp_path):
    report = report_of(DATA / "archive.md")
    for preset in report.presets:
        target = write(preset, tmp_path / "new")
        assert target.name == f"{preset.name}.toml"
    names = [p.name for p in report.presets]
    assert names == ["archive-1-compression", "archive-2-memory"]
    (axis,) = report.presets[1].sweep.axes
    assert axis.names == ("bytes",) and len(axis.values) == 3


def test_a_preset_knows_its_source_its_lines_and_what_is_wrong():
    (preset, *_) = report_of(DATA / "timeit_module.md").presets
    assert (preset.source.document, preset.source.example) == ("half-timeit", 1)
    report = report_of(DATA / "timeit_module.md")
    assert "a16 @ b16" in report.lines[preset.source.lines[0] - 1]
    assert "waiting" in preset.wrong and preset.marks == {"m": (512,), "k": (512,), "n": (512,)}


def beside(sentence: str, code: str = "tf.matmul(tf.ones((512, 512)), tf.ones((512, 512)))"):
    text = f"```python\nimport tensorflow as tf\n{code}\n```\n\n{sentence}\n"
    (example,) = read(text.encode(), shipped(), name="x.md").examples
    return example


def claims(*sentence_and_code: str):
    return beside(*sentence_and_code).presets[0].claims


@pytest.mark.parametrize(
    "sentence, faster, by",
    [
        ("Here the CPU is *faster* than the GPU.", "CPU", 1.0),
        ("The GPU outperforms the CPU by far.", "GPU", 1.5),
        ("On the GPU this is slower than on the CPU.", "CPU", 1.0),
        ("The GPU shows a significant improvement over the CPU.", "GPU", 1.5),
        ("Even if a GPU is there, the CPU runs faster than the GPU.", "CPU", 1.0),
        ("The GPU is ten times faster than the CPU.", "GPU", 10.0),
        ("The GPU is about 10x faster than the CPU here.", "GPU", 8.0),
        ("The GPU is up to 10× faster than the CPU.", "GPU", 1.0),
        ("The GPU is 2.5 times faster than the CPU.", "GPU", 2.5),
        ("It is 1,000 times faster on the GPU than on the CPU.", "GPU", 1000.0),
        ("The GPU is two orders of magnitude faster than the CPU.", "GPU", 80.0),
        ("The GPU is 50% faster than the CPU.", "GPU", 1.5),
        ("The GPU is at least twice as fast as the CPU.", "GPU", 2.0),
        ("The GPU is 3 times as fast as the CPU.", "GPU", 3.0),
        ("The GPU needs half the time of the CPU.", "GPU", 2.0),
        ("On the GPU it takes a tenth of the time that the CPU needs.", "GPU", 10.0),
    ],
)
def test_statements_become_conditions_and_are_quoted(sentence, faster, by):
    (claim,) = claims(sentence)
    assert (claim.when.a.device, claim.when.by) == (faster, by)
    assert claim.quoted == sentence and claim.text.startswith("Read by machine: ")


@pytest.mark.parametrize(
    "sentence, most, said, amount",
    [
        ("The GPU is about 10x faster than the CPU.", 12.5, "about 10x", "8× to 12.5×"),
        ("The GPU is roughly twice as fast as the CPU.", 2.5, "roughly twice", "1.6× to 2.5×"),
        ("The GPU is between 2 and 3 times faster than the CPU.", 3.0, "", "2× to 3×"),
        ("The CPU is 10 to 30 times slower than the GPU.", 30.0, "", "10× to 30×"),
        ("The GPU is two orders of magnitude faster than the CPU.", None,
         "two orders of magnitude", "at least 80×"),
        ("The GPU is much faster than the CPU.", None, "much", "at least 1.5×"),
        ("The GPU is 10x faster than the CPU.", None, "10x", "at least 10×"),
        ("The GPU is more than 10x faster than the CPU.", None, "", "at least 10×"),
    ],
)  # fmt: skip
def test_an_approximate_factor_is_a_range_and_keeps_its_words(sentence, most, said, amount):
    (claim,) = claims(sentence)
    assert (claim.when.most, claim.said, claim.when.amount) == (most, said, amount)


@pytest.mark.parametrize(
    "about, decided",
    [
        ("For ten million samples", False),
        ("For 10,000,000 numbers", False),
        ("For a million values", False),
        ("For 10M float32 elements", False),
        ("For 512 rows", True),
        ("For 262,144 elements", True),
        ("For all of its elements", True),
        ("For 8192 × 8192 matrices", False),
        ("For 512 × 512 matrices", True),
        ("With m=8192", False),
        ("With m=512", True),
        ("In float16", False),
        ("In float32", True),
        ("In training", False),
        ("For video decoding", False),
        ("In this example", True),
        ("In most cases", True),
    ],
)
def test_a_claim_about_another_size_dtype_or_task_is_not_decided(about, decided):
    assert bool(claims(f"{about}, the GPU is 20 times faster than the CPU.")) is decided


@pytest.mark.parametrize(
    "sentence, faster, by",
    [
        ("The graph version is 2x faster than eager execution.", "graph", 2.0),
        ("Eager execution is much slower than a tf.function.", "graph", 1.5),
        ("With XLA it runs three times faster.", "xla", 3.0),
        ("tf.function makes `tf.matmul` 3 times faster than eager mode.", "graph", 3.0),
        ("On my machine tf.function is 50× slower than eager.", "eager", 50.0),
        ("With jit_compile=True the step is 3x faster than eager code.", "xla", 3.0),
        ("Without tf.function the step takes 5 ms, with tf.function 1 ms: a 5x speedup.", "graph", 5.0),
    ],
)
def test_statements_about_modes_become_conditions(sentence, faster, by):
    (claim,) = claims(sentence)
    assert (claim.when.a.mode, claim.when.by) == (faster, by)


@pytest.mark.parametrize(
    "sentence",
    [
        "The GPU takes 0.4 ms, the CPU takes 40 ms: the GPU is 100 times faster.",
        "The GPU is 100 times faster: the GPU takes 0.4 ms, the CPU 40 ms.",
        "The GPU is 100 times faster than the CPU: it takes 0.4 ms, the CPU 40 ms.",
        "The GPU is 100 times faster than the CPU (40 ms became 0.4 ms).",
        "The CPU is 100x slower than the GPU, 0.4 ms versus 40 ms.",
        "40 ms ± 1 ms on the CPU, 0.4 ms on the GPU: a factor of 100.",
        "It takes 0.4 ms on the GPU, 100 times faster than on the CPU (40 ms).",
        "The run went from 40 ms (CPU) to 0.4 ms (GPU), 100x faster.",
        "The GPU takes 0.4 ms. The CPU takes 40 ms. So the GPU is\n100 times faster.",
        "The GPU is 100 times faster than the CPU.\nIt takes 0.4 ms instead of 40 ms.",
        "100x faster:\n\n- CPU: 40 ms\n- GPU: 0.4 ms, 100x faster",
    ],
)
def test_two_times_and_a_factor_are_one_claim(sentence):
    (claim,) = claims(sentence)
    assert (claim.when.a.device, claim.when.b.device, claim.when.by) == ("GPU", "CPU", 100.0)
    assert claim.text.endswith("the GPU is faster than the CPU by at least 100× (0.4 ms against 40 ms).")


@pytest.mark.parametrize(
    "sentence, faster, by, says",
    [
        ("The GPU takes 3 ms, the CPU 12 ms, so the GPU is 2 times faster.", "GPU", 2.0,
         "(3 ms against 12 ms, so its own times give 4×)"),
        ("The GPU takes 40 ms, the CPU takes 0.4 ms: the GPU is 100 times faster.", "GPU", 100.0,
         "(40 ms against 0.4 ms, so its own times say the opposite)"),
        ("The products took 40 ms and 0.4 ms on the GPU and the CPU.", "CPU", 1.0, "(0.4 ms against 40 ms; times are not tested)"),
        ("The GPU needs 1,200 s, the CPU 600 s.", "CPU", 1.0, "(600 s against 1,200 s; times are not tested)"),
    ],
)  # fmt: skip
def test_times_name_the_faster_side_or_contradict_the_words(sentence, faster, by, says):
    (claim,) = claims(sentence)
    assert (claim.when.a.device, claim.when.by) == (faster, by) and says in claim.text


def test_a_claim_adds_the_arms_that_it_compares():
    code = "@tf.function\ndef f(x):\n    return tf.matmul(x, x)\nf(tf.ones((512, 512)))"
    text = f"```python\nimport tensorflow as tf\n{code}\n```\n\nA tf.function is 50x faster than eager.\n"
    (preset,) = read(text.encode(), shipped(), name="x.md").presets
    assert preset.arms.modes == ("eager", "graph")
    (preset,) = read(text.encode(), shipped(), name="x.md", preview=False).presets
    assert preset.arms.modes == ("graph",)


@pytest.mark.parametrize(
    "sentence",
    [
        "The GPU is faster.",
        "The CPU feeds the GPU.",
        "We ran 3 x 3 filters for 2 s on the CPU.",
    ],
)
def test_a_sentence_without_a_comparison_is_not_a_claim(sentence):
    example = beside(sentence)
    assert not example.presets[0].claims and not example.unread


@pytest.mark.parametrize(
    "sentence",
    [
        "The GPU is not faster than the CPU.",
        "Whether the GPU is faster than the CPU depends.",
        "If the batch is large, the GPU is faster than the CPU.",
        "Graph mode isn't any faster than eager mode.",
        "XLA is never faster than graph mode.",
        "Eager mode is no slower than graph mode.",
        "Neither XLA nor graph mode is faster than eager mode.",
        "It is a myth that graph mode is 3 times faster than eager mode.",
        "Graph mode is at most 2 times faster than eager mode.",
        "Is graph mode 3 times faster than eager mode?",
        "The first call of the graph is slower than eager execution.",
        "Eager mode starts faster than graph mode.",
        "Compiling with XLA is slower than tracing the graph.",
        "For a single op, eager mode is faster than a graph.",
        "Unlike XLA, the graph is slower than eager mode.",
        "A colleague says that eager mode is faster than a graph.",
        "One might think that eager execution is faster than a graph.",
        "Debugging is faster in eager mode than in graph mode.",
        "Graph mode is faster than eager mode on phones.",
        "Graph mode is faster than eager mode on a TPU.",
        "With one thread, graph mode is faster than eager mode.",
        "The graph and eager mode take the same time.",
        "A rewritten graph is faster than eager mode.",
        "XLA is faster than eager NumPy code.",
        "Graph mode is faster than eager mode on the CPU and on the GPU.",
        "XLA is under 4 times faster than eager mode.",
        "XLA is 5 ms faster than eager mode.",
        "XLA beats eager mode by 5 ms.",
        "XLA outperforms eager mode by a hair.",
        "XLA outperforms eager mode at 64 threads.",
        "Graph mode is faster than eager mode on a laptop.",
        "We hoped XLA outperforms eager mode.",
        "XLA is under 5% faster than graph mode.",
        "Graph mode is under twice as fast as eager mode.",
        "Both graph mode and XLA are faster than eager mode.",
        "Graph mode is faster than eager mode as long as the batch is small.",
        "Graph mode cuts the time of eager mode by 95%.",
        "Graph mode is faster than eager mode for the gradients.",
        "The CPU takes 40 ms and the GPU takes 40 ms.",
        "The CPU takes 40 ms at first, then 30 ms, the GPU 2 ms.",
        "XLA is cheaper than eager mode.",
        "Graph mode costs far less than eager mode.",
        "Eager mode takes 3 times as much time as graph mode.",
        "Graph mode is 3 times faster than eager mode. This is wrong.",
        "Graph mode is 3 times faster than eager mode; that isn't the case.",
        "Graph mode is faster than eager mode. However, it is no longer true.",
        "Graph mode is faster than eager mode. A myth!",
        "*Graph mode is faster than eager mode.* Debunked.",
        "Graph mode is faster than eager mode. In truth, it is the other way round.",
        "Graph mode is faster than eager mode, according to a popular blog.",
    ],
)
def test_a_sentence_that_does_not_plainly_compare_is_listed_but_not_decided(sentence):
    example = beside(sentence)
    ((unread, why),) = example.unread
    assert not example.presets[0].claims and unread == sentence
    (word,) = re.findall("“(.+)”", why) or [""]
    assert word in sentence and (
        word or re.search("both devices|which of two|cannot tell|author's machine", why)
    )


@pytest.mark.parametrize("then", ["It is not true that XLA is slower.", "Wrong results are rare."])
def test_a_denial_of_something_else_leaves_the_claim(then):
    example = beside(f"Graph mode is 3 times faster than eager mode. {then}")
    assert [claim.when.by for claim in example.presets[0].claims] == [3.0]


@pytest.mark.parametrize(
    "sentence, by",
    [
        ("Eager mode takes twice as long as graph mode.", 2.0),
        ("Graph mode takes less time than eager mode.", 1.0),
        ("Eager mode requires more time than graph mode.", 1.0),
        ("Eager mode takes 3 times longer than graph mode.", 3.0),
        ("Eager mode is 4x as slow as graph mode.", 4.0),
        ("Eager mode needs twice the time of graph mode.", 2.0),
        ("Graph mode takes half as long as eager mode.", 2.0),
        ("The product is faster as a graph than in eager mode.", 1.0),
    ],
)
def test_the_slower_side_may_take_longer(sentence: str, by: float) -> None:
    (claim,) = claims(sentence)
    assert (claim.when.a.mode, claim.when.b.mode, claim.when.by) == ("graph", "eager", by)


def test_savings_are_not_the_times_of_the_two_sides() -> None:
    example = beside(
        "XLA is 3 times faster than graph mode. XLA is 200 µs faster than graph mode.\n"
        "With 4,000 calls XLA is 1 second faster than graph mode."
    )
    (claim,) = example.presets[0].claims
    assert (claim.when.a.mode, claim.when.by, len(example.unread)) == ("xla", 3.0, 2)


def test_a_chain_of_ops_with_python_numbers_is_measured_with_numbers() -> None:
    numbers, tensors = (
        f"import time\nimport tensorflow as tf\nx = tf.ones((32, 32))\n@tf.function\ndef f(v):\n"
        f"    v = v * {a}\n    v = v + {a}\n    v = v * {a}\n    return v + {a}\n"
        "f(x)\nt = time.time()\nfor _ in range(9):\n    f(x)\nprint(time.time() - t)"
        for a in ("0.5", "x")
    )
    for code, variant in ((numbers, "numbers"), (tensors, "add-multiply")):
        (preset,) = read(f"```python\n{code}\n```\n".encode(), shipped(), name="x.md").presets
        assert (preset.workload, preset.arms.variants) == ("elementwise", (variant,))


def test_the_document_may_say_up_to_and_speak_of_its_example() -> None:
    (claim,) = claims("XLA is up to 4 times faster than eager mode for this transform.")
    assert (claim.when.by, claim.when.most) == (1.0, 4.0) and "by at most 4×" in claim.text


@pytest.mark.parametrize(
    "sentence, device",
    [
        ("On the GPU, XLA is slower than graph mode.", "GPU"),
        ("Graph mode is 3x faster than XLA on a graphics card.", "GPU"),
        ("With a GPU, graph mode takes 2 ms and XLA takes 6 ms.", "GPU"),
        ("Graph mode is faster than XLA on the CPU.", "CPU"),
        ("Graph mode is faster than XLA.", ""),
    ],
)
def test_a_claim_about_modes_is_about_the_device_that_the_sentence_names(sentence, device):
    (claim,) = claims(sentence)
    assert (claim.when.a.mode, claim.when.b.mode) == ("graph", "xla")
    assert claim.when.a.device == claim.when.b.device == device
    assert claim.about_gpu is (device == "GPU")


def test_every_claim_of_an_example_is_kept():
    stated = [f"A graph is {factor}x faster than eager." for factor in (2, 3, 4, 5, 6)]
    assert [claim.quoted for claim in claims("\n\n".join(stated))] == stated


PRODUCT = "import tensorflow as tf\na = tf.random.normal(({0}, {0}))\ntf.matmul(a, a)"
ADDS = (
    "import timeit\nimport tensorflow as tf\na = tf.ones((10, 10))\n"
    "def chain(a):\n    for _ in range(50):\n        a = a + a\n    return a\n"
    "timeit.timeit(lambda: chain(a), number=100)"
)
SLOWER = "tf.function is 10x slower than eager for a {} matmul: eager takes 50 ms, graph takes 500 ms."


@pytest.mark.parametrize(
    "first, sentence, second, owner",
    [
        (ADDS, SLOWER.format("2000x2000"), PRODUCT.format(2000), 2),
        (PRODUCT.format(1000), SLOWER.format("2000 × 2000"), PRODUCT.format(2000), 2),
        (PRODUCT.format(1000), SLOWER.format("1000x1000"), PRODUCT.format(2000), 1),
        (ADDS, "A graph is 3x faster than eager for 50 additions.", PRODUCT.format(2000), 1),
        (ADDS, "A graph is 3x faster than eager.", PRODUCT.format(2000), 1),
        (ADDS, SLOWER.format("2000x2000"), "print(1)", None),
        (PRODUCT.format(1000), SLOWER.format("2000x2000"), ADDS, None),
        (PRODUCT.format(1000), "A graph is 5x faster than eager for a chain of small ops.", "print(1)", None),
        (PRODUCT.format(1000), "With many tiny ops, a graph is 5x faster than eager.", ADDS, 2),
        (PRODUCT.format(1000), "A graph is 5x faster than eager for an FFT.", "print(1)", None),
        (ADDS, "A graph is 5x faster than eager for sorting.", "print(1)", None),
    ],
)
def test_a_sentence_between_two_examples_belongs_to_the_one_that_it_names(first, sentence, second, owner):
    text = f"```python\n{first}\n```\n\n{sentence}\n\n```python\n{second}\n```\n"
    report = read(text.encode(), shipped(), name="x.md")
    assert [p.source.example for p in report.presets if p.claims] == ([owner] if owner else [])
    unmeasured = [claim.quoted for example in report.examples for claim in example.unmeasured]
    assert unmeasured == ([] if owner else [sentence])


NET = (
    "import time\nimport tensorflow as tf\nx = tf.random.normal((256, 256))\n"
    "@tf.function\ndef net(x):\n    for _ in range({}):\n        x = {}\n    return x\n"
    "net(x)\nt = time.perf_counter()\nnet(x).numpy()\nprint(time.perf_counter() - t)"
)


def test_a_part_of_a_chain_of_elementwise_ops_decides_nothing():
    sentence = "A graph is 3x faster than eager for element-wise ops on 256 x 256 numbers."
    text = f"```python\n{NET.format(4, 'tf.sin(x) + x')}\n```\n\n{sentence}\n"
    report = read(text.encode(), shipped(), name="x.md")
    (example,) = report.examples
    assert set(example.parts.values()) == {"4 of the 8 ops"} and not any(p.claims for p in report.presets)
    assert [claim.quoted for claim in example.unmeasured] == [sentence]


@pytest.mark.parametrize(
    "net, sentence, owners, parts",
    [
        (NET.format(4, "tf.nn.relu(tf.matmul(x, x))"), "A graph is 3x faster than eager.", [], True),
        (NET.format(4, "tf.nn.relu(tf.matmul(x, x))"), SLOWER.format("256x256"), ["matmul"], True),
        (NET.format(4, "tf.nn.relu(tf.matmul(x, x))"), SLOWER.format("64x64"), [], True),
        (NET.format(1, "tf.matmul(x, x)"), "A graph is 3x faster than eager.", ["matmul"], False),
        (NET.format(4, "x + x"), "A graph is 3x faster than eager.", ["elementwise"], False),
    ],
)  # fmt: skip
def test_a_part_of_the_timed_ops_decides_no_claim_about_all_of_them(net, sentence, owners, parts):
    text = f"```python\n{net}\n```\n\n{sentence}\n\n```python\n{PRODUCT.format(2000)}\n```\n"
    report = read(text.encode(), shipped(), name="x.md")
    first = report.examples[0]
    assert [p.workload for p in report.presets if p.claims] == owners
    unmeasured = [claim.quoted for example in report.examples for claim in example.unmeasured]
    assert unmeasured == ([] if owners else [sentence])
    assert set(first.parts.values()) == ({"1 of the 8 ops", "4 of the 8 ops"} if parts else set())
    for preset in first.presets:
        assert ("The document times 8 ops together" in preset.summary) is parts


@pytest.mark.parametrize(
    ("spectrum", "part"), [("{}", []), ("tf.math.log(tf.abs({}) + 1e-6)", ["1 of the 4 ops"])]
)
def test_a_spectrum_with_further_timed_ops_is_a_part_of_them(spectrum, part):
    call = spectrum.format("tf.signal.stft(a, 512, 128)")
    code = (
        "import time\nimport tensorflow as tf\na = tf.random.normal([65536])\nt0 = time.perf_counter()\n"
        f"s = {call}\nprint(time.perf_counter() - t0)"
    )
    report = read(f"```python\n{code}\n```\n".encode(), shipped(), name="x.md")
    assert [p.workload for p in report.presets] == ["stft"]
    assert list(report.examples[0].parts.values()) == part


def test_waiting_for_input_is_a_claim_on_training_only():
    sentence = "The GPU is starved by the slow pipeline."
    assert claims(sentence) == ()
    code = (
        "import numpy as np\nm = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3)])\n"
        "m.fit(np.zeros((64, 16, 16, 3), np.float32), np.zeros(64))"
    )
    (claim,) = claims(sentence, code)
    assert claim.when.__struct_config__.tag == "waits-for-input"
