"""Figures, names and error messages from outside are shown in one readable line."""

import msgspec
import pytest

from tests.calling import here
from tests.cli.test_bad_arguments import TRACE
from tests.made import machine, regular_run
from tuilab.history.recording import write
from tuilab.lab.presets import find_preset
from tuilab.model.errors import InputError
from tuilab.model.quantity import parse_integer, seconds, significant


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e-30, 1e30, 1e308, -5e-324])
def test_a_figure_beyond_every_unit_has_an_exponent(value):
    assert len(seconds(value)) < 16 and "e" in seconds(value), seconds(value)
    assert float(seconds(value).split()[0].replace(",", "")) != 0 or abs(value) < 1e-310


def test_ordinary_figures_have_no_exponent():
    assert [seconds(v) for v in (4.83e-4, 1e-9, 1e-12, 12.0, 0.0)] == [
        "483 µs",
        "1.00 ns",
        "0.00100 ns",
        "12.0 s",
        "0 ns",
    ]
    assert significant(123_456.0, 3) == "123,000" and significant(0.000123, 2) == "0.00012"


def test_whole_numbers_are_read_exactly():
    assert parse_integer("922337203685477580") == 922_337_203_685_477_580
    assert parse_integer("64k", binary=True) == 65_536 and parse_integer("1.5M") == 1_500_000


def test_a_preset_that_demands_too_much_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "big.toml"
    file.write_text('title = "T"\nworkload = "stft"\n\n[parameters]\nsamples = 9223372036854775807\n')
    with pytest.raises(InputError) as refused:
        find_preset(str(file))
    text = str(refused.value)
    assert text.count("expected") == 1 and text.count("got") == 1, text
    assert "parameters.samples: got 9223372036854775807; expected" in text and "big.toml" in text


def test_a_hostile_machine_name_is_cut(tmp_path, monkeypatch):
    monkeypatch.setenv("TUILAB_DATA", str(tmp_path / "data"))
    events = regular_run("a" * 32, 40)
    huge = machine(**dict.fromkeys(("host", "cpu", "os"), "x" * 200_000))
    write(tmp_path / "big.jsonl", [msgspec.structs.replace(events[0], machine=huge), *events[1:]])
    assert here("history", "import", str(tmp_path / "big.jsonl")).returncode == 0
    for words in (
        ["hosts"],
        ["history", "--json"],
        ["export", "last"],
        ["export", "last", "--format", "json"],
    ):
        done = here(*words)
        assert done.returncode == 0 and len(done.stdout) < 40_000, (words, len(done.stdout))
        assert not TRACE.search(done.stderr)
