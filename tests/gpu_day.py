"""The first 20 minutes on a real GPU: tests everything that requires a GPU.

python -m tests.gpu_day DIR [--all] [--steps facts,doctor] [--presets stft-small] [--install SOURCE]
[--minutes 20]

Each step is a program with a time limit, at most the time that is left; the most valuable steps come first.
By default, the day measures every fourth of our own functions and models and watches six programs; with
--all, it measures and watches all of them. A step's output and duration are saved in DIR, with profiles and
the events of every preset for replay (`tuilab --replay`). A failing step does not stop the day. Each
difference between the results and the code's assumptions is printed as soon as it is known. DIR/page.txt
lists the times and differences so far. Nothing on the GPU is set, reset or reconfigured.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tuilab.model.datasheets import recognised, sheet
from tuilab.model.scenario import BUDGET, Budget
from tuilab.processes import descendants, kill

Differences = Iterable[str]
TUILAB = [sys.executable, "-P", "-m", "tuilab"]
DAY = [sys.executable, "-m", "tests.gpu_day"]
GPU = ["--device", "GPU:0"]
CACHE = "cuda-cache"


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step's program: exit code (124 after a timeout), duration in seconds, and output."""

    code: int
    seconds: float
    out: str
    said: str

    def json(self) -> Any:
        try:
            return json.loads(self.out)
        except ValueError:
            return {}


@dataclass(frozen=True)
class Step:
    """A step of the day.

    argv: the command, with DIR for the day's folder. believed: yields the differences between the outcome and
    the code's assumptions.
    """

    name: str
    argv: list[str]
    limit_s: float
    believed: Callable[[Outcome], Differences] = lambda outcome: ()
    needs: str = ""
    """A program without which the step is skipped."""


PROFILED = (
    ["stft-small", "--mode", "graph"],
    ["stft-small", "--mode", "eager", "--input", "copied"],
    ["stft-small", "--mode", "xla"],
    ["mixed-precision", "--dtype", "tf32"],
    ["matmul-dtypes", "--dtype", "float32", "--mode", "graph"],
    ["host-op-in-chain", "--mode", "graph"],
    ["tiny-ops", "--mode", "eager"],
    ["tiny-ops", "--mode", "graph"],
    ["python-loop", "--mode", "graph"],
    ["stft-medium", "--mode", "graph", "--input", "copied"],
)
TRUTHS = """
import json, statistics, time
import tensorflow as tf
out, sync = {}, tf.test.experimental.sync_devices
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_visible_devices(gpu, "GPU")
tf.config.experimental.set_memory_growth(gpu, True)
out["details"] = {k: str(v) for k, v in tf.config.experimental.get_device_details(gpu).items()}
with tf.device("/CPU:0"):
    x = tf.identity(tf.ones((1024, 1024)))
same = tf.function(lambda t: tf.identity(t))
with tf.device("/GPU:0"):
    out["graph_identity_on"] = same(x).backing_device[-5:]
    out["copy_on"] = x._copy_nograd(device_name="GPU:0").backing_device[-5:]

def timed(call, count=101):
    seconds = []
    for _ in range(count):
        begun = time.perf_counter(); call(); seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)

def own():
    with tf.device("/GPU:0"):
        tf.raw_ops.SyncDevice()

out["empty_sync_s"], out["own_sync_s"] = timed(sync), timed(own)
with tf.device("/GPU:0"):
    y = tf.ones((64, 64))
    def tiny():
        tf.nn.relu(y); sync()
    tiny(); out["tiny_op_s"] = timed(tiny)
    tf.profiler.experimental.start("DIR/truths-profile"); tiny(); tf.profiler.experimental.stop()
    out["tiny_op_after_profile_s"] = timed(tiny)
    side = SIDE
    a = tf.random.normal((side, side))
    for name, on in (("float32", False), ("tf32", True)):
        tf.config.experimental.enable_tensor_float_32_execution(on); a @ a; sync()
        begun = time.perf_counter(); [a @ a for _ in range(10)]; sync()
        out[name + "_flops"] = 20 * side**3 / (time.perf_counter() - begun)
out["memory"] = tf.config.experimental.get_memory_info("GPU:0")
print(json.dumps(out))
"""
NEIGHBOUR = (
    "import tensorflow as tf, time; x = tf.zeros((10**8,)); print(x.device, flush=True)\n"
    "while True: x += 1; x.numpy()[:1]; time.sleep(0.2)"
)


NOISE = {
    "outliers",
    "two-levels",
    "drift",
    "not-warm",
    "precision",
    "cpu-contention",
    "canary",
    "processes-differ",
}
"""Codes of caveats about the machine's state. These caveats do not contradict the code's assumptions."""


def last(o: Outcome) -> str:
    return ([line.strip() for line in o.said.splitlines() if line.strip()] or ["it said nothing"])[-1][:300]


def doctor(o: Outcome) -> Differences:
    """Expect the doctor to see a GPU without a problem, within its own time limit."""
    if not o.json().get("gpu_visible"):
        yield f"the doctor sees no GPU: {o.json().get('cause', last(o))}"
    if o.seconds > 60:
        yield f"the doctor took {o.seconds:.0f} s; a cold PTX cache is believed to cost less"


def run(o: Outcome) -> Differences:
    """Expect every arm to run on the requested device, without caveats."""
    yield from ended(o)
    for arm in o.json().get("arms", []):
        if arm["status"] != "ok":
            if "no GPU kernel" in arm["reason"]:
                continue  # as expected
            yield f"{arm['id']} is {arm['status']}: {arm['reason'][:200]}"
        elif arm["device"] not in (None, arm["requested_device"]):
            yield f"{arm['id']} computed on {arm['device']}"
        yield from (f"{arm['id']}: {f['message']}" for f in arm.get("flags", []) if f["code"] not in NOISE)


def truths(o: Outcome) -> Differences:
    """Check assumptions about placement, clocks and the profiler."""
    found = o.json()
    if not found:
        yield f"no truths: {last(o)}"
        return
    if found["graph_identity_on"] != "CPU:0":
        yield f"an identity in a graph brings its input to {found['graph_identity_on']}; it is believed to be removed"
    if found["copy_on"] != "GPU:0":
        yield f"a copy asked for GPU:0 lies on {found['copy_on']}"
    if not 5e-6 < found["empty_sync_s"] < 200e-6:
        yield f"an empty sync takes {found['empty_sync_s'] * 1e6:.0f} µs; 30 to 60 are believed"
    if found["tiny_op_after_profile_s"] > 1.2 * found["tiny_op_s"]:
        slower = found["tiny_op_after_profile_s"] / found["tiny_op_s"]
        yield f"after a profile a tiny op takes {slower:.2f}× as long: CUPTI stays attached"
    major = re.search(r"\d+", found["details"].get("compute_capability", ""))
    ratio = found["tf32_flops"] / found["float32_flops"]
    if major and (ratio > 1.5) != (int(major[0]) >= 8):
        yield f"TF32 is {ratio:.2f}× as fast as float32 at compute capability {found['details']['compute_capability']}"


def profiled(o: Outcome) -> Differences:
    """Expect the GPU's streams in the profile, and no note about missing data."""
    found = o.json()
    if not found:
        yield f"no profile: {last(o)}"
        return
    yield from found.get("notes", ())
    if not any(lane["device"].startswith("GPU") for lane in found.get("lanes", ())):
        yield "no lane of the profile is a GPU's"
    if found.get("device") != "GPU:0":
        yield f"the profile is of {found.get('device') or 'no device'}"


def machine(o: Outcome) -> Differences:
    """Expect a data sheet for the GPU, and no figure above the data sheet's limits. Report each figure's
    share of its limit.
    """
    yield from ended(o)
    if o.code:
        return
    found = o.json()
    called = [d["description"] for d in found["machine"]["devices"] if d["name"] == "GPU:0"]
    name, seen = recognised(called[0]) if called else "", found["roofs"]["devices"].get("GPU:0")
    if not name or seen is None:
        yield f"no data sheet of {called[0] if called else 'a GPU'}" + (
            "" if seen else "; no roofs of it either"
        )
        return
    known, link = sheet(name), seen.get("link") or {}
    pairs = [("triad", seen["triad"], known.bandwidth)]
    pairs += [(f"{dtype} products", rate, known.peak(dtype)) for dtype, rate in seen["peaks"].items()]
    pairs += [(f"copies {way}", link.get(way), known.link) for way in ("to_device", "to_host")]
    for what, rate, most in pairs:
        if rate and most is not None:
            mark = "beyond" if rate > most.value else "of"
            yield f"{what}: {rate:.3g} is {rate / most.value:.0%} {mark} the data sheet's {most.value:.3g}"


def shared(o: Outcome) -> Differences:
    """Expect the run to continue when another program uses the GPU, and the next run to name the program that
    holds GPU memory.
    """
    yield from ended(o)
    if "is shared: " not in o.out:
        yield "a neighbor on the GPU is not reported"


def stalls(o: Outcome) -> Differences:
    """Expect the arm to wait for its host ops, and the advice to move these ops rather than to enlarge the
    batch.
    """
    yield from run(o)
    for arm in o.json().get("arms", []):
        found = {d["code"]: d for d in o.json()["diagnosis"] if d["arm"] == arm["id"]}
        if arm["id"].startswith("gpu") and arm["status"] == "ok" and "host-only" in arm["id"]:
            if "stall" not in (arm["phases_s"] or {}):
                yield f"{arm['id']}: no part of a call is waiting for the host"
            if "host-ops" not in found:
                yield f"{arm['id']}: no op is said to run on the host"
            if "launch-bound" in found:
                yield f"{arm['id']}: {found['launch-bound']['sentence']}"


def largest(o: Outcome) -> Differences:
    """Expect that the largest batch of a GPU arm is found by trying batches, and is limited by the GPU's
    memory.
    """
    yield from run(o)
    fits = [f for f in (o.json().get("model") or {}).get("fits_on", []) if f["device"].startswith("GPU")]
    if not fits:
        yield "no largest batch is known of the GPU"
    for fit in fits:
        if fit["source"] == "shapes":
            yield f"{fit['device']} {fit['variant']}: the largest batch is estimated from shapes alone"
        elif fit["ended_by"] != "memory":
            yield f"{fit['device']} {fit['variant']}: {fit['batch']:,} fit; less than that was believed"


MODELS = """
import keras
given = keras.Input((65_536,))
keras.Model(given, keras.layers.Dense(4)(keras.layers.ReLU()(given))).save("DIR/wide.keras")
images = features = keras.Input((64, 64, 3))
for width in (32, 64, 128):
    features = keras.layers.Conv2D(width, 3, strides=2, padding="same")(features)
    features = keras.layers.ReLU()(keras.layers.BatchNormalization()(features))
pooled = keras.layers.GlobalAveragePooling2D()(features)
keras.Model(images, keras.layers.Dense(10)(pooled)).save("DIR/convnet.keras")
"""


def own(o: Outcome) -> Differences:
    """Expect a GPU measurement of each of our own functions and models, and no arm that beats its bound."""
    yield from ended(o)
    marks = (": beats its bound: ", ": failed: ", ": contradiction: ")
    yield from (line for line in o.out.splitlines() if any(mark in line for mark in marks))


def watched(o: Outcome) -> Differences:
    """Expect the right findings for each program, and the same exit code with and without watching."""
    yield from ended(o)
    yield from (line for line in o.out.splitlines() if ": missed: " in line or ": failed: " in line)


def selftest(o: Outcome) -> Differences:
    failed = [check for check in o.json().get("checks", []) if not check["passed"]]
    yield from (f"{check['name']}: {check['message']}" for check in failed)
    if not o.json():
        yield f"no self-test: {last(o)}"


def oom(o: Outcome) -> Differences:
    for arm in o.json().get("arms", []):
        if "frozen" in arm.get("reason", "") or "Detected at" in arm.get("reason", ""):
            yield f"{arm['id']} hides its cause: {arm['reason'][:200]}"


def recorded(o: Outcome) -> Differences:
    """Expect every preset to end without an error or a contradiction. The output contains its verdicts."""
    yield from ended(o)
    yield from (line for line in o.out.splitlines() if ": contradiction: " in line)


def ended(o: Outcome) -> Differences:
    if o.code:
        yield f"it ended with {o.code}: {last(o)}"


def steps(folder: Path, presets: list[str], install: str, side: int, every: bool = False) -> list[Step]:
    """Return the day's steps, the most valuable first. every: True to measure all of our own functions,
    models and programs.
    """
    truth = TRUTHS.replace("DIR", str(folder)).replace("SIDE", str(side))
    quick = ["--budget", "quick", "--json"]
    convnet = str(folder / "convnet.keras")
    mixed = [*TUILAB, "run", "mixed-precision", *GPU, *quick]
    sides = [word for name in "mkn" for word in ("--set", f"{name}={side}")]
    stopped = ["timeout", "--preserve-status", "-s", "INT", "30"]
    one_arm = ["stft-small", *GPU, "--mode", "graph"]
    more, times = ["--all"] if every else [], 5 if every else 1
    return [
        Step("facts", ["bash", "-ec", FACTS, str(folder)], 60, ended, "nvidia-smi"),
        *([Step("install", ["bash", "-ec", INSTALL, install, str(folder)], 900, ended)] if install else []),
        Step("doctor", [*TUILAB, "doctor", "--json"], 300, doctor),
        Step("start", ["bash", "-c", START, str(folder), *TUILAB, "run", "stft-small", *quick], 180, run),
        Step("truths", [sys.executable, "-c", truth], 240, truths),
        Step("make-models", [sys.executable, "-c", MODELS.replace("DIR", str(folder))], 60, ended),
        Step("convnet", [*TUILAB, "run", convnet, "--mode", "graph", *quick, "--against", "h100"], 120, run),
        Step("convnet-batches",
             [*TUILAB, "sweep", convnet, *GPU, "--mode", "graph", "--input", "resident", "--axis", "batch=1:256:x16",
              *quick], 120, run),
        Step("own", [*DAY, *more, "--own", str(folder)], 200 * times, own),
        Step("watched", [*DAY, *more, "--watched", str(folder)], 240 * times, watched),
        Step("largest-batch", [*TUILAB, "run", str(folder / "wide.keras"), *GPU, "--mode", "graph", *quick], 120,
             largest),
        Step("stalls", [*TUILAB, "run", "host-op-in-chain", *quick], 120, stalls),
        *(
            Step(name, [*TUILAB, "profile", *words, *GPU, "-o", str(folder / name), "--json"], 120, profiled)
            for words in PROFILED
            for name in ["profile-" + "-".join(word.strip("-") for word in words)]
        ),
        Step("recordings", [*DAY, "--record", str(folder), *presets], 400, recorded),
        Step("machine", [*TUILAB, "machine", "--json"], 120, machine),
        Step("selftest", [*TUILAB, "selftest", "--json"], 300, selftest),
        Step("tf32-alone", [*mixed, "--dtype", "tf32"], 120, run),
        Step("tf32-beside-float32", mixed, 180, run),
        Step("out-of-memory", [*TUILAB, "run", "too-large-tensor", *GPU, *quick], 120, oom),
        Step("interrupted", [*stopped, *TUILAB, "run", *one_arm, "--budget", "standard"], 60),
        Step("resume-beside-a-neighbour", [*DAY, "--beside"], 240, shared),
        Step("products", [*TUILAB, "run", "matmul-dtypes", *GPU, "--mode", "graph", *sides, *quick], 180, run),
        Step("doctor-again", [*TUILAB, "doctor", "--json"], 120, doctor),
    ]  # fmt: skip


FACTS = """
nvidia-smi
nvidia-smi --format=csv \\
  --query-gpu=index,name,driver_version,compute_mode,mig.mode.current,clocks.sm,clocks.max.sm,memory.used
nvidia-smi topo -m || true
"""
START = """
"$@" & run=$!
sleep 15
nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv > "$0/contexts.csv" 2>&1
wait $run
"""
INSTALL = """
python3 -m venv "$1/venv"
"$1/venv/bin/pip" install -q "$0[cuda]"
"$1/venv/bin/python" -m tuilab doctor
"""


def carry_out(step: Step, folder: Path, most_s: float = 3_600) -> Outcome:
    begun = time.monotonic()
    environment = {
        **os.environ,
        "TUILAB_DATA": str(folder / "data"),
        "CUDA_CACHE_PATH": str(folder / CACHE),
    }
    out, said = folder / f"{step.name}.out", folder / f"{step.name}.log"
    with out.open("wb") as stdout, said.open("wb") as stderr:
        process = subprocess.Popen(
            step.argv, env=environment, stdout=stdout, stderr=stderr, start_new_session=True
        )
        try:
            code = process.wait(min(step.limit_s, most_s))
        except subprocess.TimeoutExpired:
            started = descendants(process.pid)  # workers and watched programs have their own process groups
            os.killpg(process.pid, 9)
            kill(started)
            process.wait()
            code = 124
    seconds = time.monotonic() - begun
    return Outcome(code, seconds, out.read_text(errors="replace"), said.read_text(errors="replace"))


def day(folder: Path, chosen: list[Step], minutes: float) -> str:
    """Run the steps. Return the page: each step's duration, then the differences from the code's assumptions."""
    begun = time.monotonic()
    times, found, cached, page = list[str](), list[str](), 0, ""
    for step in chosen:
        differences: list[str] = []
        left = minutes * 60 - (time.monotonic() - begun)
        if left <= 0:
            times.append(f"{step.name:28} left out: the time is over")
        elif step.needs and not shutil.which(step.needs):
            times.append(f"{step.name:28} left out: no {step.needs} here")
        else:
            outcome = carry_out(step, folder, left)
            late = " (ran past its limit)" if outcome.code == 124 else ""
            grown, cached = cached, sum(f.stat().st_size for f in (folder / CACHE).rglob("*") if f.is_file())
            kernels = f", compiled {cached - grown:,} bytes of kernels" if cached > grown else ""
            times.append(f"{step.name:28}{outcome.seconds:7.1f} s, ended with {outcome.code}{late}{kernels}")
            try:
                differences += step.believed(outcome)
            except Exception as error:
                words = f"what it printed is not understood: {type(error).__name__}: {error}"
                differences.append(words)
        found += [f"- {step.name}: {words}" for words in differences]
        print(times[-1], *found[len(found) - len(differences) :], sep="\n", file=sys.stderr, flush=True)
        head = (
            "What differed from what the code believes:"
            if found
            else "Nothing differed from what the code believes."
        )
        page = "\n".join([*times, "", head, *found, ""])
        (folder / "page.txt").write_text(page)
    return page


def short() -> Budget:
    """Return a third of the quick budget. With the whole budget, a preset took 14 s on average."""
    return msgspec.structs.replace(BUDGET["quick"], limit_s=2.0, chase_s=0.5)


def record(folder: Path, names: list[str]) -> int:
    """Record a short run of each preset in a file named after the GPU and the versions, and print the
    verdicts.

    Return 1 if a preset failed.
    """
    from tests.conftest import Worker, fold
    from tests.contradictions.collected import contradictions
    from tuilab import catalogue
    from tuilab.analysis.verdicts import judge
    from tuilab.history import recording
    from tuilab.lab.settings import Settings
    from tuilab.model.events import Finished
    from tuilab.model.expand import expand
    from tuilab.model.requests import Measure
    from tuilab.workloads import find

    worker, budget = Worker(cpus=1), short()
    machine = worker.machine
    gpu = machine.gpus[0].description if machine.gpus else "no GPU"
    stamp = re.sub(
        r"[^\w.]+", "-", f"{gpu} tensorflow {machine.tensorflow} driver {machine.driver or 'none'}"
    )
    devices, missing = [device.name for device in machine.devices], 0
    for preset in catalogue.load().presets:
        if names and preset.name not in names:
            continue
        values = Settings.of(preset).scenario
        arms = expand(preset.arms, find(preset.workload).declaration, values.parameters, devices)
        request = Measure(
            id=uuid.uuid4().hex, scenario=values, arms=arms, budget=budget, preset=preset.name,
            sweep=preset.sweep,
        )  # fmt: skip
        seen = worker.measure(request)
        recording.write(folder / f"{preset.name}.{stamp}.jsonl", seen)
        state = fold(seen)
        for claim in preset.claims:
            found = judge(claim, state)
            print(f"{preset.name}: {found.verdict}: {found.text} {found.evidence}", flush=True)
        for said in contradictions(state, preset.claims):
            print(f"{preset.name}: contradiction: {said}", flush=True)
        missing += not (isinstance(seen[-1], Finished) and seen[-1].status == "ok")
    worker.close()
    return min(1, missing)


def bounds(state: Any, name: str, card: str) -> Iterable[str]:
    """Yield a line for each GPU arm: its time, and its bound from the GPU's data sheet."""
    from tuilab.analysis.bound import call_of, why_not_known
    from tuilab.analysis.reading import estimate_at
    from tuilab.model.arms import family

    for arm in state.arms.values():
        timed, call = estimate_at(arm, 0), call_of(state, arm.arm, 0)
        if arm.status != "ok" or family(arm.device or "") != "GPU" or timed is None:
            if family(arm.arm.device) == "GPU" and "no GPU kernel" not in arm.reason:
                yield f"{name}: failed: {arm.label} is {arm.status}: {arm.reason[:200]}"
            continue
        if not card or call is None or (why := why_not_known(call)):
            yield f"{name}: {arm.label}: not known: {why if card and call else 'no data sheet or no work'}"
            continue
        bound = call.on(sheet(card))
        most = timed.interval[1] if timed.interval else timed.median
        told = f"bound {bound.seconds * 1e6:.1f} µs of {timed.median * 1e6:.1f} µs ({bound.limited_by})"
        yield f"{name}: {arm.label}: {'beats its bound: ' if bound.seconds > most else ''}{told}"


def record_own(folder: Path, every: int) -> int:
    """Record short runs of our own functions and models, and compare their GPU arms with their bounds.

    every: 1 to take all of them, 4 to take one in four. Return 1 if one of them failed.
    """
    import tensorflow

    from tests.benchmarks import functions
    from tests.conftest import Worker, fold
    from tests.contradictions.collected import contradictions
    from tests.worker.test_models import declare
    from tests.worker.zoo import KINDS
    from tuilab.history import recording
    from tuilab.model.arms import ArmSelection
    from tuilab.model.events import Declared
    from tuilab.model.expand import expand
    from tuilab.model.parameters import check_values
    from tuilab.model.requests import Measure
    from tuilab.model.scenario import Opening, Scenario
    from tuilab.model.shapes import checked, parse

    tensorflow.config.set_visible_devices([], "GPU")
    asked: list[tuple[str, str, tuple[str, ...], str, dict[str, int]]] = [
        (f"{functions.FILE}:{a.name}", a.name, a.shapes, "", {}) for a in functions.CASES if not a.refused
    ][::every]
    for number, (name, kind) in enumerate([each for each in KINDS.items() if not each[1].refused][::every]):
        place = folder / "models" / str(number)
        place.mkdir(parents=True, exist_ok=True)
        code = str(place / "own.py") if kind.code else ""
        try:
            asked.append((str(kind.save(tensorflow, place)), name, kind.given, code, dict(kind.values)))
        except Exception as error:
            print(f"{name}: not saved here: {type(error).__name__}: {str(error)[:200]}", flush=True)
    worker, budget, failed = Worker(cpus=1), short(), 0
    gpu = worker.machine.gpus[0].description if worker.machine.gpus else ""
    devices = [device.name for device in worker.machine.devices]
    for file, name, shapes, code, values in asked:
        opening = Opening(code=code, inputs=checked([parse(each) for each in shapes]))
        answer = declare(worker, file, opening)  # type: ignore[no-untyped-call]
        if not isinstance(answer, Declared):
            failed = 1
            print(f"{name}: failed: {answer.message[:300]}", flush=True)
            continue
        declaration = answer.declaration
        given = check_values(declaration.parameters, declaration.constraints, values)
        arms = expand(ArmSelection(devices=("CPU", "GPU"), modes=("graph",)), declaration, given, devices)
        request = Measure(
            id=uuid.uuid4().hex, scenario=Scenario(declaration.name, given, file, opening), arms=arms,
            budget=budget, latency=False, phases=True,
        )  # fmt: skip
        seen = worker.measure(request)
        recording.write(folder / f"own-{re.sub(r'[^a-z0-9]+', '-', name.lower())}.jsonl", seen)
        state = fold(seen)
        for line in bounds(state, name, recognised(gpu)):
            print(line, flush=True)
        for said in contradictions(state):
            print(f"{name}: contradiction: {said}", flush=True)
    worker.end()
    return failed


def watch(folder: Path, every: bool) -> int:
    """Run programs alone and watched, and compare their times and findings. Return 1 if a program failed."""
    place = Path(__file__).parent / "watch" / "programs"
    programs = [place / f"{name}.py" for name in WATCHED[: None if every else 6]]
    programs += sorted({*(place / "gpu").glob("*.py")} - {*programs}) if every else []
    failed = 0
    for program in programs:
        kept = folder / f"watch-{program.stem}.json"
        seconds, codes = [], []
        for command in ([sys.executable, str(program)],
                        [*TUILAB, "watch", "--plain", "--json", str(kept), str(program)]):  # fmt: skip
            step = Step(f"watch-{program.stem}-{len(codes)}", command, 120)
            outcome = carry_out(step, folder)
            codes.append(outcome.code)
            seconds.append(outcome.seconds)
        page = json.loads(kept.read_text()) if kept.exists() else {}
        found = [finding["code"] for finding in page.get("findings", ())]
        marked = re.search(r"^# expects:(.*)$", program.read_text(), re.MULTILINE)
        expected = [code.strip() for code in marked[1].split(",") if code.strip()] if marked else []
        if codes[0] != codes[1]:
            failed = 1
            print(f"{program.stem}: failed: it ended with {codes[0]} alone, {codes[1]} watched", flush=True)
        for code in sorted(set(expected) - set(found)):
            print(f"{program.stem}: missed: {code}; found {', '.join(found) or 'nothing'}", flush=True)
        print(
            f"{program.stem}: {seconds[0]:.1f} s alone, {seconds[1]:.1f} s with watch; expected "
            f"{', '.join(expected) or 'nothing'}, found {', '.join(found) or 'nothing'}",
            flush=True,
        )
    return failed


WATCHED = (
    *("gpu/constant_each_step", "gpu/host_op", "gpu/reads_each_step", "gpu/launch_bound"),
    *("gpu/recurrent_dropout", "good_lstm", "good_fit_dataset", "fit_small_batches", "loop_numpy_fed"),
    *("loop_eager", "good_xla"),
)
"""The programs to watch: by default, the first six; with --all, also all other programs for a GPU."""


def beside() -> int:
    """Resume the last run, and make another run while another program occupies GPU memory. Return the exit
    code.
    """
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdout=subprocess.PIPE)
    assert neighbour.stdout is not None
    neighbour.stdout.readline()
    try:
        resumed = subprocess.run([*TUILAB, "resume", "last"]).returncode
        alone = [*TUILAB, "run", "stft-small", *GPU, "--mode", "graph", "--budget", "quick", "--json"]
        made = subprocess.run(alone).returncode
        if resumed:
            print(f"resume ended with {resumed}", file=sys.stderr)
        return resumed or made
    finally:
        neighbour.kill()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gpu_day", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("presets", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--all", action="store_true", help="measure all own functions, models and programs")
    parser.add_argument("--steps", default="")
    parser.add_argument("--presets", dest="chosen", default="")
    parser.add_argument(
        "--install", default="", metavar="SOURCE", help="install SOURCE[cuda] in a fresh venv too"
    )
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--slower", type=float, default=1.0, help="multiply the limits, for a slower host")
    parser.add_argument("--side", type=int, default=8192, help="of the matrices of the truths")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--beside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.beside:
        return beside()
    if given.folder is None:
        parser.error("a folder for what is found")
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if given.record:
        return record(folder, given.presets)
    if given.own:
        return record_own(folder, 1 if given.all else 4)
    if given.watched:
        return watch(folder, given.all)
    presets = [name for name in given.chosen.split(",") if name]
    planned = [
        replace(step, limit_s=step.limit_s * given.slower)
        for step in steps(folder, presets, given.install, given.side, given.all)
    ]
    names = [name for name in given.steps.split(",") if name]
    if unknown := set(names) - {step.name for step in planned}:
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(step.name for step in planned)}")
    print(day(folder, [step for step in planned if not names or step.name in names], given.minutes))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
