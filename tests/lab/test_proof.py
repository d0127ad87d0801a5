from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import msgspec
import pytest

from tests.calling import here
from tests.made import account
from tuilab.cli.prove import table
from tuilab.documents import read
from tuilab.documents.api.tables import shipped
from tuilab.lab.proof import (
    PATTERNS,
    _are,
    _empty,
    _first_call,
    _host_map,
    _interval,
    _no_wait,
    _start,
    proofs,
    prove,
    proven,
)
from tuilab.model.preset import Preset
from tuilab.model.result import ArmResult

HEAD = "import time\nimport tensorflow as tf\nx = tf.random.normal((256, 256))\n"
NO_WAIT = "tf.matmul(x, x)\nt = time.perf_counter()\ny = tf.matmul(x, x)\nprint(time.perf_counter() - t)\n"
FIRST = "t = time.perf_counter()\ntf.matmul(x, x).numpy()\nprint(time.perf_counter() - t)\n"
UNKNOWN = "import own\nt = time.perf_counter()\nf = tf.function(lambda v: tf.cumsum(v))\nf(x)\nprint(time.perf_counter() - t)\n"


def proof_of(code: str, text: str):
    report = read((HEAD + text).encode(), shipped(), name="x.py", preview=False)
    return next(p for p in proofs(report) if p.finding.code == code)


def arm(**about) -> ArmResult:
    given = {
        "id": "cpu0.eager.resident.float32", "label": "CPU eager", "requested_device": "CPU:0", "device": "CPU:0",
        "mode": "eager", "dtype": "float32", "input": "resident", "variant": "", "host": "", "status": "ok",
        "reason": "", "median_s": 1e-3, "ci95_s": None, "n": 9, "latency_s": None, "first_call_s": 0.5,
        "second_call_s": None, "phases_s": {}, "flags": (),
    }  # fmt: skip
    return ArmResult(**(given | about))


def shown(code: str, text: str, *arms: ArmResult):
    result = SimpleNamespace(arms=arms, status="ok", preset="x-1-matmul", run="r1")
    return proven(proof_of(code, text), result)


def test_a_finding_is_measured_with_the_op_and_shape_of_the_document():
    proof = proof_of("TL103", NO_WAIT)
    assert proof.preset.workload == "matmul"
    assert [proof.preset.parameters[side] for side in "mkn"] == [256] * 3
    assert len(proof.preset.arms.modes) == 1 and proof.preset.arms.variants == ("plain",)


def test_of_a_million_ops_a_thousand_are_measured_and_the_proof_says_so():
    many = (
        "t = time.perf_counter()\nfor _ in range(1000000):\n    y = x + x\nprint(time.perf_counter() - t)\n"
    )
    proof = proof_of("TL103", many)
    assert proof.preset.parameters["ops"] == 1_000
    made = shown("TL103", many, arm())
    assert "measured with 1,000 of the 1,000,000 ops" in made.sentence
    figures, compared = list(table([made]))[1:]
    assert "1,000" not in figures.replace("TL103", "") and figures.split()[2:4] == ["–", "–"]
    assert compared.endswith(": figure 1.00, actual 1.00 ms")
    whole = msgspec.structs.replace(made, reduced="")
    assert list(table([whole]))[1].split()[2:4] == ["1.00", "1.00"], "a field decides, whatever the words say"


def test_a_part_of_the_timed_ops_is_not_called_the_document_s_own_time():
    net = "def net(v):\n    for _ in range(4):\n        v = tf.nn.relu(tf.matmul(v, v))\n    return v\n"
    made = shown("TL105", net + FIRST.replace("tf.matmul(x, x)", "tf.function(net)(x)"), arm())
    assert made.reduced == "1 of the 8 ops" and "measured with 1 of the 8 ops" in made.sentence
    assert list(table([made]))[1].split()[2:4] == ["–", "–"]


def test_of_two_benchmarks_on_adjacent_lines_each_has_its_own_finding():
    line = "t = time.perf_counter(); y = tf.matmul({0}, {0}); print(time.perf_counter() - t)\n"
    text = HEAD + "w = tf.random.normal((64, 64))\n" + line.format("x") + line.format("w")
    report = read(text.encode(), shipped(), name="x.py", preview=False)
    found = [(p.finding.line, p.preset and p.preset.parameters["m"]) for p in proofs(report)]
    assert found == [(5, 256), (5, 256), (6, 64)]


def test_a_result_without_a_preset_has_the_name_of_the_measured_one():
    result = SimpleNamespace(arms=[arm()], status="ok", preset="", run="r1")
    proof = proof_of("TL103", NO_WAIT)
    assert proven(proof, result).preset == proof.preset.name


def test_unrecognised_code_is_not_measured():
    assert proof_of("TL103", UNKNOWN).preset is None


def test_the_first_call_is_compared_with_later_ones():
    made = shown("TL105", FIRST, arm(first_call_s=0.5, median_s=1e-3))
    assert made.factor == pytest.approx(500)
    assert made.sentence.startswith("this method gives 500 ms, not 1.00 ms: 500× too large")


def test_a_first_call_among_others_counts_as_much_as_it_adds_to_their_figure():
    """Covers a first call in a loop of twenty calls, a first call in a training run, and a loop whose number
    of calls is unknown, for which there is no factor.
    """
    loop = "t = time.perf_counter()\nfor _ in range(20):\n    y = tf.matmul(x, x)\ny.numpy()\n"
    loop += "print(time.perf_counter() - t)\n"
    made = shown("TL104", loop, arm(first_call_s=20e-3, median_s=1e-3))
    assert made.factor == pytest.approx((20 + 19) / 20)
    assert "1.95× too large; the first of 20 takes 20.0 ms" in made.sentence
    training = (
        "m = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3), tf.keras.layers.Flatten()])\n"
        "m.compile('adam', 'mse')\n"
        "d = tf.data.Dataset.from_tensor_slices((tf.zeros((640, 32, 32, 3)), tf.zeros((640,)))).batch(32)\n"
        "t = time.perf_counter()\nm.fit(d, epochs=2)\nprint('latency', time.perf_counter() - t)\n"
    )
    made = shown("TL105", training, arm(first_call_s=0.5, median_s=1e-2))
    assert made.factor == pytest.approx((0.5 + 39e-2) / 0.4), made.sentence
    unknown = "from settings import count\n" + loop.replace("range(20)", "range(count)")
    made = shown("TL104", unknown, arm(first_call_s=20e-3, median_s=1e-3))
    assert made.factor is None and "does not show whether the figure covers only the first" in made.sentence


def test_without_waiting_only_a_gpu_call_returns_early():
    gpu = arm(
        device="GPU:0", label="GPU eager", median_s=9e-3, account=account(dispatch=3e-4, compute=8.7e-3)
    )
    made = shown("TL103", NO_WAIT, arm(), gpu)
    assert made.factor == pytest.approx(30)
    assert made.sentence.startswith("this method gives 300 µs, not 9.00 ms: 30× too small")
    cpu = shown("TL103", NO_WAIT, arm())
    assert cpu.factor == 1 and "no GPU ran the call" in cpu.sentence


def test_a_step_fed_by_a_map_is_compared_with_one_that_does_the_work_itself():
    fed, inside = arm(variant="parallel", median_s=0.2), arm(variant="in-step", median_s=0.1)
    text = (
        "d = tf.data.Dataset.from_tensor_slices(tf.zeros((64, 32, 32, 3))).map(\n"
        "    lambda v: tf.image.random_brightness(v, 0.2)).batch(8)  # runs on the GPU\n"
        "for b in d:\n    b.numpy()\n"
    )
    report = read((HEAD + text).encode(), shipped(), name="x.py", preview=False)
    found = [p for p in proofs(report) if p.finding.code == "TL303"]
    assert found, [f.code for e in report.examples for f in e.findings]
    result = SimpleNamespace(arms=(fed, inside), status="ok", preset="x", run="r1")
    assert proven(found[0], result).factor == pytest.approx(2)


def test_a_proof_that_ran_nothing_gives_the_reason():
    failed = arm(status="unavailable", reason="no GPU is visible", median_s=None)
    assert "no GPU is visible" in shown("TL105", FIRST, failed).sentence


@pytest.mark.parametrize(("device", "named"), [("GPU:0", "GPU:0"), (None, "the device")])
def test_a_mapped_function_is_compared_with_the_same_work_in_the_step(device, named):
    fed, inside = (
        arm(variant="parallel", median_s=30e-3),
        arm(variant="in-step", device=device, median_s=5e-3),
    )
    assert _host_map([fed, inside])[:3] == (
        30e-3, 5e-3,
        "the map runs on the host: a step that it feeds takes 30.0 ms, a step that does the same work on "
        f"{named} takes 5.00 ms",
    )  # fmt: skip
    assert (
        _host_map([inside])[:2] == _host_map([fed, arm(variant="in-step", median_s=None)])[:2] == (None, None)
    )


def test_untimed_arms_give_no_factor():
    """Covers a first call without a time, and a GPU call without a time for the host's part."""
    first = shown("TL105", FIRST, arm(first_call_s=None))
    assert first.factor is None and "a later call takes 1.00 ms; the first was not timed" in first.sentence
    unseen = shown("TL103", NO_WAIT, arm(device="GPU:0", account=None, median_s=2e-3))
    assert (
        unseen.factor is None
        and "a call takes 2.00 ms; the time until it returned was not measured" in unseen.sentence
    )


def test_each_pattern_belongs_to_an_existing_rule():
    from tuilab.documents import RULES

    assert set(PATTERNS) <= {rule.code for rule in RULES}


def test_the_command_says_what_cannot_be_measured(tmp_path):
    article = tmp_path / "article.md"
    article.write_text("```python\nprint(1)\n```\n")
    done = here("check", "--prove", str(article))
    assert done.returncode == 0 and done.stdout == ""
    assert "no finding can be proved by a measurement" in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "warning", "--ignore", "TL105"), 0),
        (("--fail-on", "warning", "--baseline", "known.json"), 0),
        (("--select", "TL9999"), 2),
    ],
)
def test_the_command_has_the_exit_code_of_a_check(tmp_path, monkeypatch, options, code):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tuilab.cli.prove.with_lab", lambda measure: [])
    Path("article.md").write_text(f"```python\n{FIRST}\n```\n")
    assert here("check", "article.md", "--write-baseline", "known.json").returncode == 0
    for more in ((), ("--prove",), ("--prove", "--json")):
        assert here("check", "article.md", *options, *more).returncode == code, more


BOTH = (
    "f = tf.function(lambda v: tf.matmul(v, v))\n"
    "t = time.perf_counter()\nfor _ in range(20):\n    y = tf.matmul(x, x)\ny.numpy()\n"
    "print('eager', time.perf_counter() - t)\n"
    "t = time.perf_counter()\nf(x).numpy()\nprint('graph', time.perf_counter() - t)\n"
)


async def test_a_first_call_is_measured_in_its_own_mode_and_the_earliest_in_a_fresh_process():
    """The program has an eager loop (rule TL104) and a tf.function (rule TL105). The first product of a
    process takes 30 ms more, in any mode.
    """
    report = read((HEAD + BOTH).encode(), shipped(), name="x.py", preview=False)
    wanted = [p for p in proofs(report) if p.finding.code in ("TL104", "TL105")]
    modes = {p.finding.code: p.preset.arms.modes for p in wanted}
    assert modes == {"TL104": ("eager",), "TL105": ("graph",)}
    bench = Bench()
    made = await prove(bench, wanted, "quick", lambda shown: None)
    assert (bench.modes, bench.fresh) == ([("eager",), ("graph",)], 1)
    shown = {each.code: each for each in made}
    assert "CPU eager" in shown["TL104"].compared and "CPU graph" in shown["TL105"].compared


def test_the_table_has_one_unit_and_an_interval_or_the_reason_for_none():
    gpu = arm(
        device="GPU:0", label="GPU eager", median_s=9e-3, ci95_s=(8e-3, 10e-3),
        account=account(dispatch=3e-4, compute=8.7e-3),
    )  # fmt: skip
    first = shown("TL105", FIRST, arm(first_call_s=0.5, median_s=1e-3))
    early = shown("TL103", NO_WAIT, gpu)
    same = shown("TL103", NO_WAIT, arm())
    rows = list(table([first, early, same, shown("TL105", FIRST, arm(status="failed", reason="no memory"))]))
    assert "figure, µs" in rows[0] and "actual, µs" in rows[0]
    assert rows[1].split()[1:4] == ["TL105", "500,000", "1,000"]
    assert rows[1].endswith("500× too large (one call, no interval)")
    assert rows[2].strip() == "the first call compared with a later call (CPU eager)"
    assert _interval((2e-4, 4e-4), (8e-3, 1e-2)) == _interval((8e-3, 1e-2), (2e-4, 4e-4)) == (20, 50)
    spread = msgspec.structs.replace(early, factor_ci95=(20.0, 50.0))
    assert list(table([spread]))[1].endswith("30× too small [20 50]")
    assert rows[3].split()[2:4] == ["300", "9,000"] and "30× too small" in rows[3]
    close = shown("TL105", FIRST, arm(first_call_s=1.04e-3, median_s=1e-3))
    assert list(table([close]))[1].endswith("correct here (one call, no interval)")
    assert rows[5].endswith("the same") and "no GPU ran the call" in rows[6]
    assert rows[7].endswith("–") and "no memory" in rows[8]


class Bench:
    """A fake lab on a machine with the given GPUs. It returns made-up times for the requested arms, and
    records the requests.
    """

    def __init__(self, *gpus: str) -> None:
        self.gpus, self.asked, self.modes = gpus, list[tuple[str, ...]](), list[tuple[str, ...]]()
        self.runner, self.fresh = self, 0

    async def renew(self) -> None:
        self.fresh += 1

    async def ready(self) -> dict[str, SimpleNamespace]:
        return {"": SimpleNamespace(gpus=self.gpus)}

    async def measure(self, preset: Preset, budget: str) -> SimpleNamespace:
        self.asked.append(preset.arms.devices)
        self.modes.append(preset.arms.modes)
        device = preset.arms.devices[0]
        made = [
            arm(device=f"{device}:0", mode=mode, label=f"{device} {mode}", median_s=1e-2, first_call_s=0.2)
            for mode in preset.arms.modes
        ]
        return SimpleNamespace(arms=made, status="ok", preset=preset.name, run=f"r{len(self.asked)}")


async def test_gpu_timings_of_an_article_are_proved_on_the_cpu_without_a_gpu():
    wanted = [proof_of("TL105", f"with tf.device('/GPU:0'):\n{indent(FIRST, '    ')}")]
    assert wanted[0].preset.arms.devices == ("GPU",)
    without, beside = Bench(), Bench("GPU:0")
    (cpu,) = await prove(without, wanted, "quick", lambda shown: None)
    (gpu,) = await prove(beside, wanted, "quick", lambda shown: None)
    assert (without.asked, beside.asked) == ([("CPU",)], [("GPU",)])
    assert cpu.factor == gpu.factor == pytest.approx(20)
    assert cpu.sentence == f"Without a GPU, on the CPU: {gpu.sentence.replace('GPU', 'CPU')}"


CPU_BY = "no GPU ran the call: on the CPU, a call returns when its work is done, after 1.00 ms (CPU eager)"
DURING = "; the first was not timed (CPU eager)"


@pytest.mark.parametrize(
    ("show", "about", "calls", "expected"),
    [
        (_empty, {}, None, (None, 1e-3, "the figure includes no work: a call takes 1.00 ms (CPU eager)",
         "no work, compared with a call")),
        (_no_wait, {}, None, (1e-3, 1e-3, CPU_BY,
         "no GPU ran the call, and on the CPU a call returns when its work is done")),
        (_no_wait, {"device": "GPU:0"}, None, (None, 1e-3,
         "a call takes 1.00 ms; the time until it returned was not measured (CPU eager)",
         "the time until the call returned was not measured")),
        (_first_call, {"first_call_s": None}, 1, (None, 1e-3, f"a later call takes 1.00 ms{DURING}",
         "the first call was not timed")),
        (_first_call, {"first_call_s": 0.01}, None, (None, 1e-3,
         "the first call takes 10.0 ms, a later call 1.00 ms; the document does not show whether the figure "
         "covers only the first (CPU eager)",
         "the first call takes 10.0 ms, a later call 1.00 ms; the document does not show whether the figure "
         "covers only the first")),
        (_first_call, {"first_call_s": 0.01}, 1, (0.01, 1e-3,
         "this method gives 10.0 ms, not 1.00 ms: 10× too large; the figure is for the first call, not for a later "
         "one (CPU eager)", "the first call compared with a later call")),
        (_first_call, {"first_call_s": 0.011}, 10, (2e-3, 1e-3,
         "this method gives 2.00 ms, not 1.00 ms: 2× too large; the first of 10 takes 11.0 ms (CPU eager)",
         "the mean of the first 10 calls compared with a later call")),
        (_first_call, {"first_call_s": 2e-3}, 2_000, (1.0005e-3, 1e-3,
         "this method gives 1.00 ms, which is correct here; the first of 2,000 takes 2.00 ms and is negligible "
         "(CPU eager)", "the mean of the first 2,000 calls compared with a later call")),
        (_start, {"first_call_s": 1.04e-3}, 1, (1.04e-3, 1e-3,
         "the start-up is negligible here: the first batch takes 1.04 ms, a later batch 1.00 ms (CPU eager)",
         "the first batch compared with a later batch")),
        (_start, {"first_call_s": 0.01}, 1, (0.01, 1e-3,
         "this method gives 10.0 ms, not 1.00 ms: 10× too large; the figure is for the first batch, not for a "
         "later one (CPU eager)", "the first batch compared with a later batch")),
        (_start, {"first_call_s": None}, 1, (None, 1e-3, f"a later batch takes 1.00 ms{DURING}",
         "the first batch was not timed")),
    ],
)  # fmt: skip
def test_each_pattern_has_a_sentence_for_each_outcome(show, about, calls, expected):
    said, true, sentence, compared, interval = show([arm(**about)], calls)
    assert (true, sentence, compared, interval) == (*expected[1:], None)
    assert said == (expected[0] and pytest.approx(expected[0]))


@pytest.mark.parametrize(
    ("said", "true", "words"),
    [
        (1.05, 1.0, "this method gives 1.05 s, which is correct here"),
        (1.0, 1.05, "this method gives 1.00 s, which is correct here"),
        (1.06, 1.0, "this method gives 1.06 s, not 1.00 s: 1.06× too large"),
        (1.0, 1.06, "this method gives 1.00 s, not 1.06 s: 1.06× too small"),
    ],
)
def test_times_within_five_percent_are_the_same(said, true, words):
    assert _are(said, true) == words


def test_an_interval_needs_both_times_and_positive_ends():
    assert _interval((1.0, 2.0), (4.0, 8.0)) == (2.0, 8.0)
    assert _interval((4.0, 8.0), (1.0, 2.0)) == (2.0, 8.0)
    assert _interval((0.5, 1.5), (0.5, 1.0)) == (0.5, 3.0)
    assert _interval((0.0, 1.0), (1.0, 2.0)) is None
    assert _interval(None, (1.0, 2.0)) is _interval((1.0, 2.0), None) is None


def test_each_finding_takes_the_figure_of_its_own_dtype():
    """Timings of the same product in two dtypes are arms of one run."""
    second = "z = tf.cast(x, tf.float64)\n" + NO_WAIT.replace("x", "z")
    report = read((HEAD + NO_WAIT + second).encode(), shipped(), name="x.py", preview=False)
    arms = (arm(dtype="float32", median_s=1e-3), arm(dtype="float64", median_s=3e-3))
    result = SimpleNamespace(arms=arms, status="ok", preset="x-1-matmul", run="r1")
    found = [proven(p, result).true_s for p in proofs(report) if p.finding.code == "TL103"]
    assert found == [1e-3, 3e-3]
