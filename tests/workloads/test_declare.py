from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tuilab
from tuilab.model.errors import InputError
from tuilab.model.parameters import Boolean, Choice, Integer, LogInteger, defaults
from tuilab.workloads.declare import declaration


def test_annotations_and_defaults_become_parameters():
    def forward(
        batch: Annotated[int, tuilab.between(1, 512, unit="images", help="In one call.")] = 32,
        shift: Annotated[int, tuilab.between(-4, 4)] = 0,
        kind: Annotated[Literal["relu", "tanh"], "The activation."] = "tanh",
        deep: bool = False,
        size=100,
    ):
        """One line.

        More lines.
        """

    found = declaration(forward, "forward")
    batch, shift, kind, deep, size = found.parameters
    assert batch == LogInteger(
        name="batch", label="batch", help="In one call.", unit="images", default=32, low=1, high=512
    )
    assert shift == Integer(name="shift", label="shift", help="", default=0, low=-4, high=4)
    assert kind == Choice(
        name="kind", label="kind", help="The activation.", default="tanh", options=("relu", "tanh")
    )
    assert deep == Boolean(name="deep", label="deep", help="", default=False)
    assert isinstance(size, LogInteger) and size.low == 1 and size.default == 100 < size.high
    assert (found.title, found.summary, found.unit, found.axis) == ("forward", "One line.", "call", "batch")


def test_decorators_declare_the_same_and_more():
    @tuilab.workload(title="My step", unit="step", axis="n", modes=("graph",))
    @tuilab.parameter("n", 2, 64, help="Side.")
    @tuilab.parameter("dtype", options=("float32", "float64"))
    def step(m=3, n=8, dtype="float32"): ...

    found = declaration(step, "step")
    assert (found.title, found.unit, found.axis, found.modes) == ("My step", "step", "n", ("graph",))
    assert found.dtype == "dtype"
    assert (found.parameters[1].low, found.parameters[1].high, found.parameters[1].help) == (2, 64, "Side.")
    assert found.parameters[2].options == ("float32", "float64")


@given(st.integers(-(2**30), 2**30))
def test_the_guessed_range_contains_the_default(value):
    def own(n=value): ...

    (parameter,) = declaration(own, "own").parameters
    assert parameter.low <= value <= parameter.high
    assert defaults([parameter]) == {"n": value}


def no_default(n): ...
def floating(x: Annotated[float, tuilab.between(1, 8)] = 1.0): ...
def numbers(n: Literal[1, 2] = 1): ...
def beyond(n: Annotated[int, tuilab.between(1, 8)] = 9): ...
def nowhere(n: "Missing" = 1): ...  # noqa: F821
def positional(n=1, /): ...


@tuilab.parameter("m", 1, 2)
def other(n=1): ...


@tuilab.workload(axis="m")
def axis(n=1): ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (no_default, ["n", "default"]),
        (floating, ["x", "1.0"]),
        (numbers, ["Literal"]),
        (beyond, ["n", "9", "1 to 8"]),
        (nowhere, ["Missing"]),
        (positional, ["n", "name"]),
        (other, ["m", "n"]),
        (axis, ["m", "n"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_parameters_that_cannot_be_sliders_are_refused_by_name(function, names):
    with pytest.raises(InputError) as refused:
        declaration(function, "own")
    assert all(name in str(refused.value) for name in names)


def test_a_range_is_two_whole_numbers_in_order():
    for low, high in ((2, 1), (1.5, 2)):
        with pytest.raises(InputError):
            tuilab.between(low, high)


def test_values_that_are_not_numbers_stay_as_in_the_file():
    def mine(n=3, rate=1e-3, power: float = 2.0, padding="same", shape=(3, 3), seed: int | None = None):
        return n, rate, power, padding, shape, seed

    found = declaration(mine, "mine")
    assert [each.name for each in found.parameters] == ["n"]
    assert mine(**defaults(found.parameters)) == (3, 1e-3, 2.0, "same", (3, 3), None)


def test_a_parameter_without_a_default_is_refused_in_a_sentence():
    def mine(signal, width=3):
        return signal, width

    with pytest.raises(InputError) as refused:
        declaration(mine, "own")
    assert str(refused.value) == "signal: needs a default, as in signal=32"
