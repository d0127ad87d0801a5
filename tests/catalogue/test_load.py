"""An invalid preset file is reported, and the other files still load."""

import pytest

from tuilab import catalogue
from tuilab.catalogue.load import LARGEST_FILE
from tuilab.catalogue.plan import parse_axis, parse_settings
from tuilab.lab.settings import Settings
from tuilab.model.arms import ArmPattern
from tuilab.model.errors import InputError
from tuilab.model.expand import expand
from tuilab.model.points import grid
from tuilab.model.scenario import Sweep
from tuilab.paths import shipped_folder
from tuilab.workloads import find

GOOD = 'title = "Small"\nworkload = "stft"\n[parameters]\nsamples = 4096\n'
STFT = find("stft").declaration
MATMUL = find("matmul").declaration


@pytest.fixture
def load(tmp_path):
    def load(**files: str | bytes):
        for name, text in files.items():
            (tmp_path / f"{name}.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
        return catalogue.load(tmp_path)

    return load


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        (GOOD + "sampels = 1\n", "parameters.sampels", "samples"),
        ('titel = "x"\n' + GOOD, "", "titel"),
        ('file = "mine.py:step"\n' + GOOD, "", "file"),
        (GOOD.replace("4096", '"many"'), "parameters.samples", "256 to 16,777,216"),
        (GOOD.replace("4096", "5"), "parameters.samples", "256 to 16,777,216"),
        (GOOD.replace('"Small"', "5"), "title", "Expected `str`"),
        (GOOD.replace("stft", "stfd"), "workload", "stft"),
        (GOOD + "frame_length = 8192\n", "parameters.frame_length", "at most samples"),
        (GOOD + "[marks]\ndtype = [1]\n", "marks.dtype", "a numeric parameter"),
        (GOOD + '[arms]\ndtypes = ["float16"]\n', "arms.dtypes", "float32"),
        (GOOD + '[arms]\nvariants = ["halved"]\n', "arms.variants", "whole, split"),
        (GOOD + '[arms]\nmodes = ["fast"]\n', "arms.modes[0]", "fast"),
        (GOOD + '[[claims]]\ntext = "x"\n', "claims[0]", "when"),
        (
            GOOD + '[[sweep.axes]]\nparameter = "samples"\nvalues = [512, 256]\n',
            "sweep.axes.samples",
            "ascending",
        ),
        ("title = [", "", "TOML"),
        (b'title = "\xff\xfe"', "", "TOML"),
        ("x = " + "[" * 5_000 + "]" * 5_000, "", ""),
        ("#" * (LARGEST_FILE + 1), "", "at most"),
        (GOOD + '[arms]\ndevices = ["GPU:²"]\n', "arms.devices", "a device such as GPU:1"),
    ],
)
def test_errors_name_the_file_and_key_and_expectation(load, text, key, says):
    found = load(bad=text, good=GOOD)
    assert [p.name for p in found.presets] == ["good"]
    (problem,) = found.problems
    assert problem.file.endswith("bad.toml")
    assert problem.key == key
    assert says in problem.message
    with pytest.raises(InputError, match="bad.toml"):
        found.find("bad")


def test_texts_are_cleaned_and_limited_to_what_a_screen_can_show(load):
    (preset,) = load(good=GOOD.replace("Small", r"\u001b]52;c;aGk=\u0007[@click=x]" + "y" * 500)).presets
    assert preset.title.startswith("[@click=x]yyy")
    assert len(preset.title) <= 121


def test_an_unknown_preset_is_refused_with_the_known_names(load):
    with pytest.raises(InputError, match="good"):
        load(good=GOOD).find("goof")


def test_every_shipped_preset_loads():
    found = catalogue.load(shipped_folder())
    assert not found.problems
    assert {"stft-small", "stft-medium", "stft-pipeline"} <= {p.name for p in found.presets}


def test_settings_overlay_the_preset(load):
    preset = load(good=GOOD).find("good")
    changes = parse_settings(STFT, ["samples=64k", "pad_end=on"])
    values = Settings.of(preset).with_values(changes).values
    assert (values["samples"], values["pad_end"], values["frame_step"]) == (65_536, True, 256)
    for bad in ("dtype=float16", "sampels=1", "samples"):
        with pytest.raises(InputError):
            parse_settings(STFT, [bad])
    with pytest.raises(InputError, match="an argument of your function is set with --input n=50"):
        parse_settings(STFT, ["n=50"], own=True)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("samples=256:1M:x4", (256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576)),
        ("samples=256:1000:x2", (256, 512, 1000)),
        ("samples=256:1024:256", (256, 512, 768, 1024)),
        ("samples=1k,256,4k", (256, 1024, 4096)),
        ("samples=256:1024", (256, 1024)),
    ],
)
def test_a_typed_axis_is_parsed(text, values):
    assert parse_axis(STFT, text).values == values


def test_parameters_of_one_axis_take_each_value_together():
    axis = parse_axis(MATMUL, "m,k,n=8,32")
    assert [p.values for p in grid(Sweep(axes=(axis,)))] == [{"m": v, "k": v, "n": v} for v in (8, 32)]
    with pytest.raises(InputError, match="got 'side'"):
        parse_axis(MATMUL, "m,side=8,32")


@pytest.mark.parametrize(
    "text",
    ["samples", "dtype=1:2", "samples=1k:256", "samples=256:1M:x1", "samples=256:1M:0", "samples=256:1:2:3"],
)
def test_a_wrong_axis_says_what_is_accepted(text):
    with pytest.raises(InputError):
        parse_axis(STFT, text)


def test_a_step_that_was_meant_as_a_factor_is_refused_with_a_hint():
    with pytest.raises(InputError, match="at most 400 values; 4 is a step, x4 a factor"):
        parse_axis(STFT, "samples=256:1M:4")


def patterns(condition):
    found = [getattr(condition, name) for name in condition.__struct_fields__]
    return [found for found in found if isinstance(found, ArmPattern)]


@pytest.mark.parametrize("preset", catalogue.load().presets, ids=lambda preset: preset.name)
def test_each_claim_names_arms_that_its_preset_has_on_a_gpu_machine(preset):
    """A claim about copied inputs, for example, cannot be decided if the preset's workload has no copies."""
    declaration = find(preset.workload).declaration
    devices = ["CPU:0", "GPU:0", "GPU:1"]
    arms = expand(preset.arms, declaration, Settings.of(preset).values, devices)
    for claim in preset.claims:
        for pattern in patterns(claim.when):
            assert any(pattern.matches(arm) for arm in arms), f"{claim.text}: none of {arms} is {pattern}"
