import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.errors import InputError
from tuilab.model.parameters import (
    AtMost,
    Boolean,
    Choice,
    Integer,
    LogInteger,
    MultipleOf,
    check_value,
    check_values,
    nearest,
    parse_value,
)

SAMPLES = LogInteger(name="samples", label="samples", help="", default=1024, low=256, high=2**24)
FRAME = LogInteger(name="frame", label="frame", help="", default=256, low=16, high=65_536, unit="samples")
STEP = Integer(name="step", label="step", help="", default=8, low=8, high=64, step=8)
DTYPE = Choice(name="dtype", label="dtype", help="", default="float32", options=("float32", "float64"))
PAD = Boolean(name="pad", label="pad", help="", default=False)
ALL = (SAMPLES, FRAME, STEP, DTYPE, PAD)
SHORT = AtMost("frame", "samples", "a frame must not be longer than the signal")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (SAMPLES, 255),
        (SAMPLES, True),
        (SAMPLES, 1e3),
        (SAMPLES, "1024"),
        (STEP, 9),
        (DTYPE, "float16"),
        (PAD, 1),
    ],
)
def test_a_wrong_value_names_the_parameter_the_value_and_what_is_allowed(parameter, value):
    with pytest.raises(InputError) as caught:
        check_value(parameter, value)
    assert parameter.name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert caught.value.expected


@given(st.integers(256, 2**24))
def test_a_typed_value_is_parsed_exactly(value):
    assert parse_value(SAMPLES, f"{value:,}") == value


@pytest.mark.parametrize(
    "parameter", [SAMPLES, STEP, LogInteger(name="n", help="", default=8, low=8, high=64, multiple=8)]
)
def test_the_nearest_accepted_value_is_found(parameter):
    step = parameter.step if isinstance(parameter, Integer) else parameter.multiple
    accepted = range(parameter.low, min(parameter.high, 2_000) + 1, step)
    for value in (-5, 0, 1, 7.9, 8.3, 13, 27, 60.1, 300.2, 1_999):
        found = nearest(parameter, value)
        assert found == check_value(parameter, found)
        if parameter.high < 2_000 or value >= 256:
            assert abs(found - value) == min(abs(each - value) for each in accepted)
    assert nearest(parameter, 2.0**40) == parameter.high


def test_typed_values_take_units_and_suffixes():
    assert parse_value(FRAME, "1k samples") == 1024
    assert [parse_value(PAD, word) for word in ("on", "true", " Yes ", "1")] == [True] * 4
    assert [parse_value(PAD, word) for word in ("off", "false", "NO", "0")] == [False] * 4
    with pytest.raises(InputError, match="float32, float64"):
        parse_value(DTYPE, "float16")


def test_constraints_hold_between_values():
    assert check_values(ALL, (SHORT,), {"samples": 256, "frame": 256})["frame"] == 256
    with pytest.raises(InputError, match="at most samples = 256"):
        check_values(ALL, (SHORT,), {"samples": 256, "frame": 512})
    with pytest.raises(InputError, match="a multiple of step"):
        check_values(ALL, (MultipleOf("frame", "step", "whole steps"),), {"step": 24, "frame": 256})


def test_an_unknown_name_is_refused_with_the_known_names():
    with pytest.raises(InputError, match="samples, frame, step, dtype, pad"):
        check_values(ALL, (), {"smaples": 256})
