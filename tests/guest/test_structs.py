"""If msgspec's compiled module was built for another Python, a substitute is used, which produces the same
messages.
"""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.made import EAGER, GPU_GRAPH
from tuilab.guest import __main__ as door
from tuilab.model import events, requests
from tuilab.model.explain import ExplainOp
from tuilab.model.scenario import BUDGET, Axis, Scenario, Sweep

RECORDINGS = Path(__file__).parents[1] / "recordings"

LENT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("door", sys.argv[1])
door = importlib.util.module_from_spec(spec)
spec.loader.exec_module(door)
for name in [name for name in sys.modules if name.partition(".")[0] in ("msgspec", "tuilab")]:
    del sys.modules[name]
door.lend_msgspec("")
sys.meta_path.insert(0, door.Finder)
"""
"""Code for a process in which tuilab's modules import the substitute instead of msgspec."""

READ_AGAIN = (
    LENT
    + """
from tuilab.model import events, requests
assert "msgspec" not in sys.modules and events.msgspec.__name__ == "tuilab_structs", events.msgspec
module = {"events": events, "requests": requests}[sys.argv[2]]
for line in sys.stdin.buffer:
    try:
        sys.stdout.buffer.write(module.encode(module.decode(line)))
    except Exception as error:
        assert isinstance(error, events.msgspec.MsgspecError), repr(error)
        sys.stdout.write(type(error).__name__ + "\\n")
        sys.stdout.flush()
"""
)


def read_again(kind: str, lines: bytes) -> list[bytes]:
    """Let a process without msgspec read and rewrite each line; return the new lines."""
    command = [sys.executable, "-c", READ_AGAIN, str(door.__file__), kind]
    done = subprocess.run(command, input=lines, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.splitlines()


IMPORTED = (
    LENT
    + """
from tuilab.profile import sums, threads
from tuilab.model.machine import Device
assert threads.replace(Device("CPU:0"), name="GPU:0").name == "GPU:0"
"""
)


def test_names_can_be_imported_from_its_submodules():
    command = [sys.executable, "-c", IMPORTED, str(door.__file__)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def as_msgspec(module: Any, line: bytes) -> bytes:
    try:
        return bytes(module.encode(module.decode(line)).rstrip(b"\n"))
    except msgspec.MsgspecError as error:
        return type(error).__name__.encode()


def test_every_recorded_event_is_read_and_written_as_by_msgspec():
    lines = b"".join(path.read_bytes() for path in sorted(RECORDINGS.glob("*.jsonl")))
    written = read_again("events", lines)
    assert len(written) > 500
    # Floats may be formatted differently: 9e-05 or 0.00009.
    for mine, line in zip(written, lines.splitlines(), strict=True):
        assert json.loads(mine) == json.loads(as_msgspec(events, line))


def test_input_refused_by_msgspec_is_refused_with_the_same_message():
    wrong = b"\n".join(
        [
            b"no JSON",
            b"[]",
            b'{"type": "unheard of"}',
            b'{"type": "hello"}',
            b'{"type": "hello", "protocol": "1", "tuilab": "", "pid": 1}',
            b'{"type": "hello", "protocol": true, "tuilab": "", "pid": 1}',
            b'{"type": "finished", "run": "r", "status": "gone"}',
            b'{"type": "warming", "stage": "", "elapsed_s": -1}',
        ]
    )
    assert read_again("events", wrong) == [as_msgspec(events, line) for line in wrong.splitlines()]


def test_requests_are_read_as_by_msgspec():
    measure = requests.Measure(
        id="run",
        scenario=Scenario("stft", {"samples": 4_096, "window": "hann ü", "flag": True}),
        arms=(EAGER, GPU_GRAPH),
        budget=BUDGET["publish"],
        sweep=Sweep(axes=(Axis("samples", (256, 512)),)),
    )
    asked = requests.Ask(
        id="q", kind="explain-op", body=msgspec.Raw(msgspec.json.encode(ExplainOp(op="MatMul")))
    )
    every = [measure, asked, requests.Cancel(id="run"), requests.Painted(id="run"), requests.Shutdown(id="")]
    lines = b"".join(map(requests.encode, every))
    assert read_again("requests", lines) == lines.splitlines()


@pytest.fixture(scope="module")
def structs() -> Any:
    path = Path(str(door.__file__)).with_name("structs.py")
    spec = importlib.util.spec_from_file_location("structs_alone", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, 'ü \n" \\ \u2028'], "b": {}, "c": []},
        [float("nan"), float("inf"), 1e-300, 10**15, 0.1 + 0.2],
        {"bytes": b"\x00\xff"},
    ],
)
def test_plain_values_are_written_as_by_msgspec(structs: Any, value: object):
    written = structs.json.encode(value)
    assert msgspec.json.decode(written) == msgspec.json.decode(msgspec.json.encode(value))


def test_a_struct_behaves_like_one_of_msgspec(structs: Any):
    import copy

    class Pair(structs.Struct, frozen=True):  # type: ignore[misc, name-defined]
        a: int
        b: str = "x"

    one = Pair(1)
    assert one == Pair(a=1, b="x") and hash(one) == hash(Pair(1)) and one != Pair(2)
    assert structs.structs.replace(one, b="y") == Pair(1, "y")
    assert copy.deepcopy(one) == one and repr(one) == "Pair(a=1, b='x')"
    with pytest.raises(AttributeError):
        one.a = 2
    with pytest.raises(TypeError):
        Pair()
    with pytest.raises(TypeError):
        Pair(1, "x", 3)
    with pytest.raises(TypeError):
        Pair(1, c=2)


def test_a_field_may_have_another_name_in_json_and_a_default_of_its_own() -> None:
    from tuilab.guest import structs

    def made(of: Any) -> Any:
        class Told(of.Struct, frozen=True, forbid_unknown_fields=True):
            __annotations__ = {"message": str, "remedy": str, "sizes": dict}
            message = of.field(name="cause")
            remedy = of.field(name="fix", default="")
            sizes = of.field(default_factory=dict)

        return Told

    for given in (
        '{"cause": "a"}',
        '{"cause": "a", "fix": "b", "sizes": {"n": 1}}',
        '{"message": "a"}',
        "{}",
    ):
        read = []
        for of in (msgspec, structs):
            kind = made(of)
            try:
                read.append(json.loads(of.json.encode(of.json.decode(given.encode(), type=kind))))
            except of.ValidationError:
                read.append("invalid")
        assert read[0] == read[1], given


def test_it_has_every_name_of_msgspec_that_a_worker_uses() -> None:
    from tuilab.guest import structs

    root = Path(door.__file__).parents[1]
    files = [
        file for room in ("model", "worker", "profile", "workloads") for file in (root / room).rglob("*.py")
    ]
    used = {name for file in files for name in re.findall(r"\bmsgspec\.(\w+)", file.read_text())}
    # no `toml`, because only the lab's process reads data sheets
    assert used - {"toml"} <= set(dir(structs))
