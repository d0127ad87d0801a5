"""Whatever its arguments, no command shows a traceback, emits an escape sequence, or hangs."""

import os
import random
import re
import sys
import tomllib
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calling import here
from tests.made import regular_run
from tuilab.cli import main as program
from tuilab.history.store import Store
from tuilab.model import events as e

HOSTILE = [
    "", " ", "-", "--", "-1", "0", "1e400", "nan", "inf", "-inf", "9" * 5_000, str(2**63), str(-(2**64)),
    "\x1b[31mred", "\x1b]0;title\x07", "a\nb", "\u202egnp.exe", "\udcff", "\ufeff", "é" * 300, "%s%n", "{}", "$(id)",
    "'=1+1'", "=cmd|' /C calc'!A0", "../../../etc/passwd", "/dev/zero", "/dev/full", "/proc/self/mem", "/proc/x",
    "no/such/folder/file", "~noone/x", "~noone/x.py:f", "~noone/x.keras", "~", ".", "/", "last", "word " * 2_000, "#" * 500, "a:" * 500, "machine:", "x.toml", "x.py:f",
    "fifo", "link", "folder", "model.keras", "model.h5", "saved", "saved:serve", "model.keras:x", "w0", "samples=", "samples=1e30", "samples=-1", "samples", "=1", "samples=256:1M:x4",
    "samples=1:1e30:x1", "samples=9:1:1", "samples=1:2:0", "stft-small", "GPU:99", "CPU", "gpu-07", "-oProxyCommand=x",
    "markdown", "html", "json", "csv", "ghost", "baseline", "10.5", "1e-400", "0x10", "١٢", "1_000", "true",
]  # fmt: skip
TRACE = re.compile(r"Traceback \(most recent call last\)|^\s+File \"", re.MULTILINE)
ESCAPE = re.compile("[\x1b\x9b\x07\u202e]")


def commands() -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(program.cli)
    for name in program.COMMANDS:
        command = program.cli.get_command(context, name)
        found[name] = command
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found[f"{name} {inner}"] = command.get_command(context, inner)
    return found


COMMANDS = commands()
MEASURING = {"selftest", "doctor", "worker", "machine"}
"""Commands that need no arguments. The test runs them only with arguments that they reject."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    store = Store.open(folder / "data")
    for run in ("a" * 32, "b" * 32):
        events = regular_run(run)
        store.replace(events[0], [e.encode(event).rstrip() for event in events])
        store.conclude(run, "ok", "CPU graph is fastest")
    store.close()
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "saved").mkdir()
    for name in ("model.keras", "model.h5", "saved/saved_model.pb"):
        (folder / name).write_bytes(b"PK\x03\x04\x00\xff no model at all" * 10)
    (folder / "link").symlink_to("/dev/zero")
    return folder


def words_for(command: click.Command) -> st.SearchStrategy[list[str]]:
    """Generate arguments for the command: hostile values of its options, and hostile words."""
    hostile = st.sampled_from(HOSTILE) | st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12
    )
    options = [
        name for p in command.params if isinstance(p, click.Option) for name in p.opts if name != "--stop"
    ]
    pieces = [hostile.map(lambda word: [word])]
    if options:
        pieces.append(st.tuples(st.sampled_from(options), hostile).map(list))
        pieces.append(st.sampled_from(options).map(lambda name: [name]))
    return st.lists(st.one_of(pieces), max_size=5).map(
        lambda parts: [word for part in parts for word in part]
    )


def call(words: list[str]) -> tuple[int, str]:
    code, out, err = here(*words)
    return code, out + err


@pytest.mark.parametrize("words", [["export"], ["history", "undelete"], ["history", "--search"]])
def test_bytes_that_are_not_text_are_refused_with_a_message(words, place, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(place / "data"))
    code, said = call([*words, "\udcff"])
    assert code in (0, 2) and not TRACE.search(said), said


def no_worker(*_: object, **__: object) -> None:
    from tuilab.model.errors import WorkerError

    raise WorkerError("no worker in this test")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_argument_ends_in_a_traceback(name, place, monkeypatch, request):
    monkeypatch.setenv("TUILAB_DATA", str(place / "data"))
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    monkeypatch.chdir(place)
    monkeypatch.setattr("tuilab.lab.lab.Lab.__aenter__", no_worker)
    monkeypatch.setattr("tuilab.lab.fleet.Fleet.__init__", no_worker)
    monkeypatch.setattr("tuilab.lab.lab.Lab.doctor", no_worker)
    monkeypatch.setattr("tuilab.serve.LabServer.serve", no_worker)
    monkeypatch.setattr(os, "execve", no_worker)
    monkeypatch.setattr(os, "execv", no_worker)
    monkeypatch.setattr("tuilab.cli.doctor.examine", no_worker)
    count = 500 if request.config.getoption("--long", default=False) else 40
    failed: list[tuple[list[str], str]] = []

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(words_for(COMMANDS[name]))
    def every(words: list[str]) -> None:
        code, said = call([*name.split(), *words])
        if TRACE.search(said) or ESCAPE.search(said) or code not in (0, 1, 2, 3, 4, 130):
            failed.append((words, f"{code}: {said[-600:]}"))
            raise AssertionError(failed[-1])

    random.seed(1)
    every()


def test_a_parameter_given_as_an_option_shows_the_right_syntax():
    for words, said in (("--batch", "4"), "4"), (("--batch=8",), "8"), (("--batch",), "VALUE"):
        done = here("run", "stft-small", *words)
        assert done.returncode == 2 and f"Set a parameter with --set batch={said}." in done.stderr
    assert "Did you mean" not in done.stderr
    assert "--set" not in here("history", "--batch", "4").stderr


def test_a_command_given_as_an_option_is_named():
    done = here("history", "--tag", "last", "quiet")
    assert done.returncode == 2 and "Use the command: tuilab history tag." in done.stderr
    assert "Did you mean" not in done.stderr
    assert "Use the command: tuilab sweep." in here("run", "stft-small", "--sweep").stderr


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_check_without_a_claim_is_refused_before_anything_is_measured(command, tmp_path, monkeypatch):
    monkeypatch.setattr("tuilab.lab.lab.Lab.__aenter__", no_worker)
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    preset, code = tmp_path / "mine.toml", tmp_path / "mine.py"
    preset.write_text('title = "Mine"\nworkload = "matmul"\n')
    code.write_text("def step(x):\n    return x\n")
    for name in (str(preset), f"{code}:step"):
        done = here(command, name, "--check")
        assert done.returncode == 2 and "has no claim to check" in done.stderr
    assert here(command, "stft-small", "--check").returncode == 3, "this preset has a claim"


def test_serve_and_the_guide_name_the_same_package_to_install(monkeypatch):
    for module in ("textual_serve", "textual_serve.app_service"):  # either module may already be imported
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "tuilab.serve", raising=False)
    root = Path(__file__).parents[2]
    (needs,) = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"][
        "serve"
    ]
    code, said = call(["serve"])
    assert code == 2 and f"{sys.executable} -m pip install '{needs}'" in " ".join(said.split()), said
    assert f"pip install '{needs}'" in (root / "docs" / "guide.md").read_text()
