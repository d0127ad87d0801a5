import json

import msgspec
import pytest

from tests import calling
from tuilab.cli.verdicts import VerdictLine, table


def line(preset: str, verdict: str, example: int = 1) -> VerdictLine:
    claim = "A claim of " + "many " * 30 + "words."
    return VerdictLine(
        document="000", example=example, preset=preset, claim=claim, verdict=verdict, evidence="Evidence with 3 figures."
    )  # fmt: skip


@pytest.mark.parametrize("width", [20, 80, 200])
def test_the_table_of_verdicts_groups_by_preset_and_counts_and_fits(width):
    text = table([line("a", "refuted"), line("a", "confirmed"), line("b", "refuted", 0)], width)
    assert max(map(len, text.splitlines())) <= max(width, 60)
    assert text.count("000 1") == 1 and text.count("000 prose") == 1
    counts = "3 claims: 1 confirmed, 2 refuted, 0 impossible, 0 undecided, 0 untestable."
    assert " ".join(text.split()).endswith(counts)
    assert text.index("refuted") < text.index("A claim of") < text.index("Evidence with 3 figures.")


def test_a_note_below_the_intervals_says_what_they_describe():
    within = msgspec.structs.replace(
        line("a", "confirmed"), evidence="1.2× faster [1.1 1.3].", interval="within this process and minute"
    )
    text = " ".join(table([within, line("b", "refuted")], 200).split())
    assert text.endswith("0 untestable. 95% intervals: within this process and minute.")


@pytest.mark.real_worker
def test_verdicts_are_printed_for_the_presets_named(tmp_path):
    """The claim only says that something "may" happen. A counterexample does not refute it, so the verdict is
    "undecided".
    """
    done = calling.run(tmp_path, "verdicts", "stft-windows", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(r["document"], r["example"], r["preset"], r["verdict"]) for r in rows] == [
        ("000", 0, "stft-windows", "undecided")
    ]
    assert all(r["claim"] and r["evidence"] for r in rows)


@pytest.mark.real_worker
def test_the_starter_file_runs_unchanged_and_with_its_parameters_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert calling.here("new", "my-net").returncode == 0
    words = ("--budget", "quick", "--set", "batch=4", "--mode", "graph", "--json")
    done = calling.run(tmp_path, "run", "my-net.py:my_net", *words)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["scenario"]["parameters"] == {"batch": 4, "width": 256, "activation": "relu"}
    cpu = [arm for arm in result["arms"] if arm["requested_device"] == "CPU:0"]
    assert [arm["status"] for arm in cpu] == ["ok"]
    assert {row["op"] for row in result["placement"]} & {"MatMul", "_FusedMatMul"}


def test_a_starter_file_overwrites_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("x = 1\n")
    for name, says in (("mine", "mine.py"), *((name, name) for name in ("class", "1st", "no/such/folder/x"))):
        done = calling.here("new", name)
        assert done.returncode == 2 and says in done.stderr
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"


@pytest.mark.real_worker
def test_failing_own_code_is_located_and_exits_with_3(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def f(n=1):\n    raise KeyError('gone')\n")
    done = calling.run(tmp_path, "run", "mine.py:f", "--budget", "quick")
    assert done.returncode == 3
    assert "KeyError: 'gone'" in done.stderr and 'mine.py", line 2' in done.stderr
