"""Opens every hostile model file in every way, and checks that no other folder changes.

`pytest --long -s` prints a row for each file and way.
"""

import re
import venv
from pathlib import Path

import psutil
import pytest

from tests.attack.strangers import BASE, NAMED, PATIENCE_S, SECRET, SHARED, Field, Outcome
from tests.environments import build
from tuilab import landlock
from tuilab.worker.models.opening_limits import MOST, ROOMY, SHARE

pytestmark = [pytest.mark.real_worker, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3_000)]

WAYS = ("run", "explain", "lab", "Keras 3.8", "Keras of this TensorFlow")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    if not SHARED.exists():
        pytest.skip("needs ../shared/cases/models")
    made = Field(tmp_path_factory.mktemp("field"))
    made.make_own()
    made.make_shared()
    yield made
    made.close()


@pytest.fixture(scope="module")
def pythons(tmp_path_factory) -> dict[str, str]:
    """Return the paths of two Python interpreters by name: one with Keras 3.8 (or the reason why it is
    missing), and one with tuilab's own Keras.
    """
    folder = tmp_path_factory.mktemp("current") / "environment"
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "other.pth").write_text(str(Path(psutil.__file__).parents[1]))
    found = {"Keras of this TensorFlow": str(folder / "bin" / "python")}
    try:
        found["Keras 3.8"] = str(build.environment("2.18", "keras==3.8.0") / "bin" / "python")
    except build.Missing as error:
        found["Keras 3.8"] = f"missing: {error}"
    return found


def judge(name: str, way: str, outcome: Outcome, allowed: int) -> list[str]:
    wrong = []
    if outcome.code not in (0, 2, 3):
        wrong.append(f"exit code {outcome.code}")
    if outcome.seconds > PATIENCE_S:
        wrong.append("it hung")
    if outcome.megabytes * 1e6 > allowed:
        wrong.append(f"{outcome.megabytes:,} MB of {allowed / 1e6:,.0f}")
    if SECRET in outcome.said:
        wrong.append("the secret is in its output")
    if CONTROL.search(outcome.said):
        wrong.append("control characters in its output")
    if "Traceback" in outcome.said:
        wrong.append("a traceback")
    text = " ".join(outcome.said.split())
    if name in NAMED and (outcome.code == 0 or not re.search(NAMED[name], text)):
        wrong.append(f"{NAMED[name]!r} is not named")
    if re.search("ops that|Keras parts that|layer, which", text) and "--trust" not in text:
        wrong.append("what --trust would allow is not said")
    return [f"{name} by {way}: {each}\n    {outcome.said[-600:]}" for each in wrong]


@pytest.mark.parametrize("way", WAYS)
def test_no_file_acts_by_any_way(field, pythons, way):
    if pythons.get(way, "").startswith("missing"):
        pytest.skip(pythons[way])
    before, free = field.contents(), psutil.virtual_memory().available
    # A process can allocate 500 MB between two checks of its memory.
    allowed = BASE + 500_000_000 + int(min(MOST * free, max(SHARE * free, ROOMY + 2**30)))
    outcomes = field.open_in_lab(field.names) if way == "lab" else {}
    wrong = []
    for name in field.names:
        if way == "run":
            outcomes[name] = field.open(name, "run", "--budget", "quick", "--mode", "graph", "--quiet")
        elif way == "explain":
            outcomes[name] = field.open(name, "explain")
        elif way != "lab":
            outcomes[name] = field.open(name, "explain", "--python", pythons[way])
        one = outcomes[name]
        words = " ".join(one.said.split())
        print(
            f"| {name} | {way} | {one.code} | {one.seconds:.1f} s | {one.megabytes:,} MB | {words[:160]} |",
            flush=True,
        )
        wrong += judge(name, way, one, allowed)
        if landlock.version() and (after := field.contents()) != before:
            changed = [path for path in after.keys() | before.keys() if after.get(path) != before.get(path)]
            wrong.append(f"{name} by {way}: files changed: {changed}")
            before = after
    assert not wrong, "\n".join(wrong)
    assert field.connections == 0
