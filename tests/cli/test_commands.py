import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import calling
from tests.data_folder import once
from tuilab.history import browse
from tuilab.history.store import Store
from tuilab.model.datasheets import SHEETS

TIMED = """\
```python
import time
import tensorflow as tf
print(tf.config.list_physical_devices())
x = tf.random.normal((192, 192))
t = time.perf_counter()
tf.matmul(x, x).numpy()
print(time.perf_counter() - t)
```
"""


@pytest.fixture
def small():
    """Make one real run of the first preset in a folder of its own, for all tests that only read a run."""

    def run(folder: Path) -> dict[str, str]:
        # Users may type devices, modes, dtypes and budgets in upper or lower case.
        words = ("--set", "samples=64k", "--budget", "Quick", "--json", "--check")
        words += tuple(word for mode in ("Eager", "GRAPH", "xla") for word in ("--mode", mode))
        words += ("--device", "cpu", "--device", "gpu:*", "--dtype", "Float32", "--input", "Resident")
        code, out, err = calling.run(folder / "data", "run", "stft-small", *words)
        return {"code": str(code), "stdout": out, "stderr": err, "data": str(folder / "data")}

    told = once("small", run)
    return SimpleNamespace(**told, result=json.loads(told["stdout"]))


@pytest.mark.smoke
@pytest.mark.real_worker
def test_run_prints_one_object_with_real_medians(small):
    result = small.result
    assert (result["schema"], result["preset"]) == (1, "stft-small")
    cpu = {arm["mode"]: arm for arm in result["arms"] if arm["requested_device"] == "CPU:0"}
    assert set(cpu) == {"eager", "graph", "xla"}
    for arm in cpu.values():
        assert (arm["status"], arm["device"]) == ("ok", "CPU:0")
        # On a busy machine, an arm may not reach the target precision within the budget, and is then flagged.
        short = any(flag["code"] == "precision" for flag in arm["flags"])
        assert arm["median_s"] > 0 and arm["first_call_s"] > 0
        assert (arm["n"] >= 20 and arm["ci95_s"] is not None) or short
        if arm["ci95_s"] is not None:
            low, high = arm["ci95_s"]
            assert 0 < low <= arm["median_s"] <= high
    # A graph saves the launches of about forty ops, a gain that no noise can reverse.
    assert cpu["eager"]["median_s"] > cpu["graph"]["median_s"]
    assert small.stdout.lstrip().startswith("{") and "TensorFlow" in small.stderr, (
        "messages go to standard error"
    )


@pytest.mark.real_worker
def test_a_setting_changes_the_run_and_an_unconfirmed_claim_sets_the_exit_code(small):
    assert small.code == "4", small.stderr
    assert small.result["scenario"]["parameters"]["samples"] == 65_536


@pytest.mark.real_worker
def test_gpu_arms_without_a_gpu_say_why_and_have_no_figures(small):
    result = small.result
    if result["machine"]["gpus"]:
        pytest.skip("this host has a GPU")
    gpu = [arm for arm in result["arms"] if arm["requested_device"].startswith("GPU")]
    assert gpu
    for arm in gpu:
        assert (arm["status"], arm["device"], arm["median_s"], arm["n"]) == ("unavailable", None, None, 0)
        assert "GPU" in arm["reason"]
    for claim in result["claims"]:
        # A GPU may be slower because of this host's launch cost alone. The evidence then names that bound.
        by_bound = claim["evidence"].startswith("Derived from a bound, not measured")
        assert claim["verdict"] == "untestable" or by_bound


@pytest.mark.real_worker
def test_placement_is_observed_for_every_arm_that_ran(small):
    rows = small.result["placement"]
    for arm in (arm["id"] for arm in small.result["arms"] if arm["status"] == "ok"):
        own = [row for row in rows if row["arm"] == arm and row["kind"] == "op"]
        assert any(row["device"].startswith("CPU") for row in own)
    assert "RFFT" in {row["op"] for row in rows}


@pytest.mark.real_worker
def test_a_worker_proves_a_finding(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    article = tmp_path / "article.md"
    article.write_text(TIMED)
    done = calling.here("check", "--prove", "--json", str(article))
    assert done.returncode == calling.here("check", str(article)).returncode, done.stderr
    (proof,) = json.loads(done.stdout)["proofs"]
    assert (proof["code"], proof["line"]) == ("TL105", 6), proof
    said, true = proof["said_s"], proof["true_s"]
    assert said > 0 and true > 0 and proof["factor"] == pytest.approx(max(said, true) / min(said, true))
    assert "the figure is for the first call, not for a later one" in proof["sentence"]
    runs = json.loads(calling.here("history", "--json").stdout)
    assert proof["run"] in {entry["run"] for entry in runs}
    raw = calling.here("export", proof["run"][:8], "--format", "json").stdout
    assert json.loads(raw)["scenario"]["parameters"]["m"] == 192, "the article's own shape"


@pytest.mark.real_worker
def test_a_run_is_in_the_history_and_can_be_exported(small, monkeypatch, tmp_path):
    monkeypatch.setenv("TUILAB_DATA", small.data)
    run = small.result["run"]
    (line,) = [entry for entry in json.loads(calling.here("history", "--json").stdout) if entry["run"] == run]
    assert (line["preset"], line["status"]) == ("stft-small", "ok") and line["answer"]
    page = calling.here("export", run[:8], "--format", "html").stdout
    assert "<svg" in page and "src=" not in page and "http://www.w3.org/2000/svg" in page
    assert calling.here("export", run[:8], "--format", "csv").stdout.count("\n") > 60
    assert json.loads(calling.here("export", run[:8], "--format", "json").stdout)["run"] == run
    assert line["answer"][:10] in calling.here("export", run[:8]).stdout.replace("\\", "")
    for name, begins in (
        ("run.json", "{"),
        ("RUN.HTML", "<!doctype html"),
        ("run.md", "# "),
        ("run.txt", "# "),
    ):
        assert calling.here("export", run[:8], "-o", str(tmp_path / name)).returncode == 0
        assert (tmp_path / name).read_text().startswith(begins)
    store = Store.open(Path(small.data))
    kept = browse.entry(store, run)
    store.close()
    fastest = min(arm["median_s"] for arm in small.result["arms"] if arm["median_s"])
    assert (kept.brief.rounds, kept.brief.median_s) == (small.result["rounds"], fastest)
    assert kept.line.answer[:20] == small.result["answer"][:20]
    assert kept.brief.next and kept.brief.ratio > 0 and kept.brief.low <= kept.brief.ratio <= kept.brief.high


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("run stft-small --set dtype=float16", ("dtype", "float16", "float32, float64")),
        ("run stft-small --set samples=5", ("samples", "5", "256 to 16,777,216")),
        ("run stft-small --set smaples=512", ("--set", "smaples", "samples")),
        ("run stft-smal", ("preset", "stft-smal", "stft-small")),
        ("run stft-small --mode fast", ("fast", "eager")),
        ("run stft-small --device TPU", ("TPU", "CPU, GPU")),
        ("run stft-small --device gpu:x", ("GPU:X", "CPU, GPU")),
        ("watch --device cpu train.py", ("No such option '--device'",)),
        ("watch --windo 1 train.py", ("No such option '--windo'", "--window")),
        ("run stft-small --host=-oProxyCommand=touch", ("--host",)),
        ("run matmul-dtypes --against voodoo2", ("voodoo2", *SHEETS)),
        ("run stft-small samples=64k", ("Set a parameter with --set samples=64k.",)),
        ("sweep stft-small samples=256:4k:x2", ("Set a parameter with --axis samples=256:4k:x2.",)),
        ("run STFT-Small", ("did you mean stft-small?",)),
        ("presets nonsense", ("nonsense", "`tuilab presets`")),
        ("run /no/such.toml", ("/no/such.toml", "could not be read")),
        ("verdicts stft-smal", ("stft-small",)),
        ("sweep stft-small --on tcp://127.0.0.1:1 --host gpu-07", ("--on",)),
        ("sweep stft-small --on tcp://127.0.0.1:1 --trust", ("--trust", "a model")),
        ("export zzz", ("zzz", "tuilab history")),
        ("nonsense", ("nonsense",)),
        (__file__, (f"`tuilab watch {__file__}`", f"`tuilab run {__file__}`")),
        (
            f"{__file__}:small",
            (f"`tuilab run {__file__}:small` measures it", f"`tuilab --preset {__file__}:small` opens"),
        ),
        ("", ("terminal",)),
    ],
)
def test_bad_input_names_the_place_and_what_is_accepted(monkeypatch, tmp_path, words, says):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path))
    done = calling.here(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert all(word in done.stderr for word in says), done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_without_its_ending_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def step(n=8): ...")
    for typed, meant in (("mine", "mine.py"), ("mine:step", "mine.py:step")):
        assert f"did you mean {meant}?" in calling.here("run", typed).stderr


def test_presets_are_searched_by_words():
    found = json.loads(calling.here("presets", "--json", "matmul", "TENSOR").stdout)
    everything = json.loads(calling.here("presets", "--json").stdout)
    assert 0 < len(found) < len(everything) and all("matmul" in str(each).lower() for each in found)


def test_presets_as_json_and_as_text():
    rows = json.loads(calling.here("presets", "--json").stdout)
    assert {"name", "title", "workload", "document", "example", "claims", "error"} == set(rows[0])
    assert "stft-small" in {row["name"] for row in rows}
    assert "stft-small" in calling.here("presets").stdout
    assert "tuilab/presets" in calling.here("presets", "--help").stdout, (
        "the help names the folder of the user's presets"
    )
