import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE
from tuilab.lab import settings as s
from tuilab.lab.command_line import command_line
from tuilab.lab.naming import GRAPH, resolve
from tuilab.lab.presets import find_preset
from tuilab.model.arms import ArmSelection
from tuilab.model.errors import InputError
from tuilab.model.machine import Device
from tuilab.model.parameters import LogInteger
from tuilab.model.preset import Preset
from tuilab.model.result import Crossover
from tuilab.model.scenario import Axis, Sweep
from tuilab.model.subject import Article, Model, NamedPreset
from tuilab.model.workload import Declaration
from tuilab.workloads.stft import DECLARATION

PRESET = Preset(title="STFT", workload="stft", name="stft-small", parameters={"samples": 4096})
TWO_GPUS = msgspec.structs.replace(GPU_MACHINE, devices=(Device("CPU:0"), Device("GPU:0"), Device("GPU:1")))


@pytest.fixture
def chosen() -> s.Settings:
    return s.Settings.of(PRESET)


def test_a_preset_has_the_settings_of_its_document(chosen):
    assert chosen.values["samples"] == 4096 and chosen.original
    assert not chosen.with_value("samples", 8192).original


def test_a_run_records_how_it_differs_from_what_the_claims_are_about():
    chosen = s.Settings.of(find_preset("stft-small"))
    samples = Sweep(axes=(Axis("samples", (256, 512)),))
    larger, double = chosen.with_value("samples", 8192), chosen.with_arms(dtypes=("float64",))
    assert chosen.apart() == chosen.with_arms(modes=("graph",)).apart() == ""
    assert larger.apart() == "with samples 8,192 instead of 256"
    assert double.apart() == "with float64" and larger.apart(samples) == "in a sweep over samples"
    request = larger.request({"": ["CPU:0"]}, "quick")
    assert request.apart == larger.apart()
    crossover = s.Settings.of(find_preset("stft-crossover"))
    assert crossover.apart(crossover.preset.sweep) == ""
    assert s.Settings.of(PRESET).with_value("samples", 8192).apart() == "", "the preset claims nothing"


def test_a_choice_that_leaves_no_arm_is_refused(chosen):
    with pytest.raises(InputError) as refused:
        chosen.with_arms(modes=())
    assert str(refused.value) == "mode: got ''; expected a choice that leaves at least one arm to measure"


def test_a_constraint_refuses_and_several_values_change_at_once(chosen):
    """Changing the values one after another would violate a constraint."""
    with pytest.raises(InputError) as refused:
        chosen.with_value("frame_length", 8192)
    assert "samples" in str(refused.value) or "fft" in str(refused.value)
    changed = chosen.with_values({"samples": 256, "frame_length": 128, "frame_step": 64, "fft_length": 128})
    assert changed.values["samples"] == 256
    with pytest.raises(InputError):
        chosen.with_values({"samples": 256, "frame_length": 512})


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        (None, ("CPU", "GPU", "both")),
        (CPU_MACHINE, ("CPU", "GPU", "both")),
        (GPU_MACHINE, ("CPU", "GPU:0", "both")),
        (TWO_GPUS, ("CPU", "GPU:0", "GPU:1", "both", "all")),
    ],
)
def test_the_device_slider_has_a_stop_for_each_selection(chosen, machine, options):
    choice = s.device_choice(chosen, machine)
    assert choice.parameter.options == options
    assert choice.value == "both"
    for stop in options:
        at = chosen.at_stop("device", stop)
        assert s.device_choice(at, machine).value == stop or (stop == "GPU" and machine is TWO_GPUS)


def test_an_unusual_selection_becomes_another_stop(chosen):
    unusual = chosen.with_arms(devices=("CPU:0", "CPU:1"))
    choice = s.device_choice(unusual, CPU_MACHINE)
    assert choice.value == "CPU:0+CPU:1" in choice.parameter.options
    assert chosen.at_stop("device", "CPU:0+CPU:1") == unusual


def test_a_preset_that_compares_dtypes_offers_all():
    preset = Preset(title="t", workload="stft", arms=ArmSelection(dtypes=("float32", "float64")))
    chosen = s.Settings.of(preset)
    choice = s.dtype_choice(chosen)
    assert choice.parameter.options == ("float32", "float64", "all") and choice.value == "all"
    one = chosen.at_stop("dtype", "float64")
    assert s.dtype_choice(one).value == "float64" and one.arms.dtypes == ()
    assert s.dtype_choice(one.at_stop("dtype", "all")).value == "all"


def test_each_parameter_has_a_control_limited_by_the_others(chosen):
    crossover = Crossover(a="a", b="b", at=18_300.0, ci95=(15_000.0, 22_000.0), status="found")
    found = {control.parameter.name: control for control in s.controls(chosen, GPU_MACHINE, (), crossover)}
    assert list(found)[-3:] == ["dtype", "variant", "device"] and next(iter(found)) == "samples"
    samples, frame = found["samples"], found["frame_length"]
    assert samples.value == 4096 and samples.crossover == 18_300.0 and samples.note.endswith("B needed")
    assert "fft_length = 512" in frame.reach.why_not(8192) and frame.crossover is None
    for name, control in found.items():
        assert chosen.at_stop(name, control.value) == chosen, (
            "moving a control to its current value changes nothing"
        )


def test_variants_and_switches_become_controls(chosen):
    assert s.variant_choice(chosen).value == "all"
    split = chosen.at_stop("variant", "split")
    assert split.arms.variants == ("split",) and s.variant_choice(split).value == "split"
    assert split.at_stop("variant", "all").arms.variants == ()
    switch = next(w for w in s.switches(chosen) if w.key == "filter")
    assert s.flipped(chosen, switch).values["filter"] is not switch.on
    assert any(switch.group == "GPU input" for switch in s.switches(chosen))
    cpu = chosen.with_arms(devices=("CPU",))
    assert not any(switch.group == "GPU input" for switch in s.switches(cpu)), (
        "the switch matters only with a GPU"
    )
    for _ in range(5):
        on = [switch for switch in s.switches(chosen) if switch.group == "mode" and switch.on]
        chosen = s.flipped(chosen, on[0])
    assert len(chosen.arms.modes) == 1, "the last of a group stays on"


def test_the_sweep_of_the_preset_or_a_ladder(chosen):
    sweep = s.default_sweep(chosen)
    assert sweep is not None
    values = sweep.axes[0].values
    assert values[0] == 256 and values[-1] == 16_777_216 and list(values) == sorted(set(values))
    own = Sweep(axes=(Axis("batch", (1, 2)),))
    preset = Preset(title="t", workload="stft", sweep=own)
    assert s.default_sweep(s.Settings.of(preset)) is own


def test_an_own_function_is_swept_near_its_default_unless_it_states_a_range():
    """The slider reaches 1,024 times the default. At this size, work that grows with tokens² would take
    hours.
    """
    for high, sizes in ((256 * 1024, (16, 64, 256, 1_024, 4_096)), (512, None)):
        declared = Declaration(
            name="mine.py:step",
            title="step",
            summary="",
            unit="one call",
            axis="n",
            parameters=(LogInteger(name="n", help="", default=256, low=1, high=high),),
        )
        own = s.Own(declared, "mine.py")
        values = s.default_sweep(s.choose(own.preset, own)).axes[0].values
        assert values == sizes if sizes else values[-1] == high


def test_a_sweep_refines_a_crossover_unless_switched_off(chosen):
    assert s.chosen_sweep(chosen).refine and s.chosen_sweep(chosen, ["samples=256,1024"]).refine
    assert not s.chosen_sweep(chosen, refine=False).refine
    assert not s.chosen_sweep(chosen, ["samples=256,1024"], refine=False).refine


def test_a_folder_is_a_model_if_it_contains_one_or_is_written_as_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("plain", "saved"):
        (tmp_path / name).mkdir()
    (tmp_path / "saved" / GRAPH).touch()
    for name in ("m.keras", "M.H5"):
        (tmp_path / name).touch()
    kinds = {
        "saved": Model(str(tmp_path / "saved")),
        "saved:serve": Model(str(tmp_path / "saved"), "serve"),
        "m.keras": Model(str(tmp_path / "m.keras")),
        "M.H5": Model(str(tmp_path / "M.H5")),
        "plain": Article("plain"),
        "none/": Article("none/"),
        "stft-small": NamedPreset("stft-small"),
    }
    assert {words: resolve(words) for words in kinds} == kinds
    with pytest.raises(InputError, match=GRAPH):
        resolve("plain/")


def test_the_command_names_only_changed_settings(chosen):
    assert command_line(chosen) == "tuilab run stft-small"
    changed = chosen.with_value("samples", 65_536).with_value("pad_end", True).with_arms(modes=("graph",))
    assert command_line(changed, "quick") == (
        "tuilab run stft-small --set samples=65536 --set pad_end=true --mode graph --budget quick"
    )
    sweep = Sweep(axes=(Axis("samples", (256, 1024)), Axis("batch", (1, 4))))
    assert (
        command_line(chosen, sweep=sweep)
        == "tuilab sweep stft-small --axis samples=256,1024 --axis batch=1,4"
    )


@given(
    samples=st.sampled_from([4096, 8192, 65_536]),
    window=st.sampled_from(["hann", "hamming", "none"]),
    pad=st.booleans(),
    modes=st.lists(st.sampled_from(["eager", "graph", "xla"]), min_size=1, unique=True),
)
def test_the_command_does_what_the_screen_does(samples, window, pad, modes):
    import shlex

    from tuilab.catalogue.plan import parse_settings

    chosen = s.Settings.of(PRESET)
    order = tuple(m for m in DECLARATION.modes if m in modes)
    chosen = chosen.with_values({"samples": samples, "window": window, "pad_end": pad}).with_arms(modes=order)
    words = shlex.split(command_line(chosen))[3:]
    pairs = list(zip(words[::2], words[1::2], strict=True))
    given = parse_settings(DECLARATION, [value for flag, value in pairs if flag == "--set"])
    again = s.Settings.of(PRESET).with_values(given)
    modes_given = tuple(value for flag, value in pairs if flag == "--mode")
    assert again.values == chosen.values
    assert (modes_given or PRESET.arms.modes) == chosen.arms.modes


@pytest.mark.parametrize(
    ("code", "right"),
    [
        ("def forward(): ...", True),
        ("if True:\n    forward = 3", True),
        ("from model import forward", True),
        ("from model import *", True),
        ("globals()['forward'] = 1", True),
        ("def step(): ...", False),
        ("def step():\n    forward = 1", False),
    ],
)
def test_a_name_that_a_file_cannot_define_is_refused_without_running_it(tmp_path, code, right):
    file = tmp_path / "mine.py"
    file.write_text(code + "\nraise SystemExit('it was run')")
    if right:
        assert resolve(f"{file}:forward").place == f"{file}:forward"
        return
    with pytest.raises(InputError, match=r"a name defined in mine\.py: step"):
        resolve(f"{file}:forward")


def test_a_missing_file_or_one_that_is_not_python_is_refused(tmp_path):
    with pytest.raises(InputError):
        resolve(f"{tmp_path}/none.py:f")
    (tmp_path / "bad.py").write_text("def f(:")
    with pytest.raises(InputError, match="line 1"):
        resolve(f"{tmp_path}/bad.py:f")


def test_each_device_is_represented_by_its_graph_on_resident_data(chosen):
    every = chosen.with_arms(modes=("eager", "graph", "xla"), inputs=("copied", "resident"))
    picked = s.representative(every, GPU_MACHINE)
    assert [(arm.device, arm.mode, arm.input) for arm in picked] == [
        ("CPU:0", "graph", "resident"),
        ("GPU:0", "graph", "resident"),
    ]
    without = chosen.with_arms(modes=("xla", "eager"), inputs=("resident",))
    assert {arm.mode for arm in s.representative(without, GPU_MACHINE)} == {"eager"}


def test_a_file_without_a_function_name_lists_the_functions(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def f(n=3):\n    return n\n")
    with pytest.raises(InputError) as refused:
        find_preset(str(file))
    assert str(refused.value) == f"{file}: name one of its functions ({file}:f)"
    file.write_text("print(3)\n")
    with pytest.raises(InputError) as refused:
        find_preset(str(file))
    assert str(refused.value) == f"{file}: run it as a whole program: tuilab watch {file}"
