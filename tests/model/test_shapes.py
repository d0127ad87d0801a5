import msgspec
import pytest

from tuilab.model.errors import InputError
from tuilab.model.shapes import Argument, Constant, Shape, Size, checked, parse, text_of


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("a=float32[128,64]", Shape("a", "float32", (Size(128), Size(64)))),
        ("a=float32[batch=32,64]", Shape("a", "float32", (Size(32, "batch"), Size(64)))),
        ("a=bfloat16[n, 4k]", Shape("a", "bfloat16", (Size(0, "n"), Size(4096)))),
        ("rate=float32", Shape("rate", "float32")),
        ("ids=int32[8]:0..99", Shape("ids", "int32", (Size(8),), 0, 99)),
        ("x=float64[8]:-0.5..1e3", Shape("x", "float64", (Size(8),), -0.5, 1000)),
        ("state.0=float32[2]", Shape("state.0", "float32", (Size(2),))),
        ("axis=-1", Constant("axis", -1)),
        ("padding='same'", Constant("padding", "same")),
        ("mask=None", Constant("mask", None)),
    ],
)
def test_an_argument_is_parsed_and_printed_back(text, argument):
    assert parse(text) == argument
    assert parse(text_of(argument)) == argument
    assert msgspec.json.decode(msgspec.json.encode(argument), type=Argument) == argument


@pytest.mark.parametrize(
    "text",
    ["a", "=float32[2]", "a=flaot32[2]", "a=float32[0]", "a=float32[-1]", "a=float32[2", "a=[1, 2]", "a b=1",
     "a=int32[2]:9..1", "a=int32[2]:x..y", "a=float32[n=]", "a=float32[" + "1," * 9 + "1]", "a=__import__('os')"],
)  # fmt: skip
def test_a_wrong_shape_is_refused_with_what_was_typed(text):
    with pytest.raises(InputError, match="--input") as refused:
        parse(text)
    assert repr(text) in str(refused.value)


def test_dimensions_of_one_name_have_one_size():
    first, second = checked([parse("a=float32[n=8,4]"), parse("b=float32[4,n]")])
    assert first.shape == (Size(8, "n"), Size(4)) and second.shape == (Size(4), Size(8, "n"))
    for wrong in (["a=float32[n=8]", "b=float32[n=9]"], ["a=float32[n]"], ["a=float32[2]", "a=float32[2]"]):
        with pytest.raises(InputError):
            checked([parse(each) for each in wrong])
