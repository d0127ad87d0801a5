from hypothesis import given
from hypothesis import strategies as st

from tuilab.model.arms import INPUTS, MODES, Arm, ArmPattern, ArmSelection, labels
from tuilab.model.expand import expand, expand_on
from tuilab.model.parameters import defaults
from tuilab.workloads import find

STFT = find("stft").declaration
VALUES = defaults(STFT.parameters)
WHOLE = ArmSelection(variants=("whole",))


def test_gpu_arms_are_requested_even_without_a_gpu():
    arms = expand(WHOLE, STFT, VALUES, ("CPU:0",))
    assert [a.id for a in arms if a.device == "CPU:0"] == [
        f"cpu0.{mode}.resident.float32.whole" for mode in MODES
    ]
    assert {(a.device, a.input) for a in arms if a.device != "CPU:0"} == {("GPU:0", i) for i in INPUTS}


def test_the_first_gpu_is_measured_unless_others_are_named():
    devices = ("CPU:0", "GPU:0", "GPU:1")
    assert {a.device for a in expand(WHOLE, STFT, VALUES, devices)} == {"CPU:0", "GPU:0"}
    every = ArmSelection(devices=("CPU", "GPU:*"), variants=("whole",))
    assert {a.device for a in expand(every, STFT, VALUES, devices)} == set(devices)
    one = ArmSelection(devices=("GPU:1",), variants=("whole",))
    assert {a.device for a in expand(one, STFT, VALUES, devices)} == {"GPU:1"}


def test_a_variant_that_needs_a_gpu_has_no_cpu_arm():
    arms = expand(ArmSelection(), STFT, {**VALUES, "filter": True}, ("CPU:0",))
    assert {a.device for a in arms if a.variant == "split"} == {"GPU:0"}


def test_a_variant_needs_its_flag():
    assert {a.variant for a in expand(ArmSelection(), STFT, VALUES, ("CPU:0",))} == {"whole"}
    only = ArmSelection(variants=("split",))
    assert {a.variant for a in expand(only, STFT, VALUES, ("CPU:0",))} == {"whole"}


def test_a_variant_is_named_if_there_are_several():
    assert labels(expand(WHOLE, STFT, VALUES, ("CPU:0",)))[:2] == ["CPU eager", "CPU graph"]
    both = labels(expand(ArmSelection(modes=("graph",)), STFT, {**VALUES, "filter": True}, ("CPU:0",)))
    assert both[:2] == ["CPU whole", "GPU whole resident"]


arms = st.builds(
    Arm,
    device=st.sampled_from(["CPU:0", "GPU:0", "GPU:1"]),
    mode=st.sampled_from(MODES),
    input=st.sampled_from(INPUTS),
    dtype=st.sampled_from(["float32", "float64"]),
    variant=st.sampled_from(["", "whole", "split"]),
    host=st.sampled_from(["", "gpu-07"]),
)


@given(st.lists(arms, unique=True, max_size=12))
def test_labels_and_ids_distinguish_arms(some):
    assert len(set(labels(some))) == len(some)
    assert len({a.id for a in some}) == len(some)


@given(arms)
def test_a_pattern_made_of_an_arm_matches_it(arm):
    pattern = ArmPattern(
        device=arm.device, mode=arm.mode, input=arm.input, dtype=arm.dtype, variant=arm.variant
    )
    assert pattern.matches(arm)
    assert ArmPattern().matches(arm)
    assert not ArmPattern(device="TPU").matches(arm)


def test_gpu_arms_are_requested_on_all_hosts_only_if_none_has_a_gpu():
    chosen = ArmSelection(modes=("graph",), inputs=("resident",), variants=("whole",))

    def made(**devices: list[str]) -> set[tuple[str, str]]:
        return {(arm.host, arm.device) for arm in expand_on(chosen, STFT, VALUES, devices)}

    both = made(laptop=["CPU:0"], server=["CPU:0", "GPU:0"])
    assert both == {("laptop", "CPU:0"), ("server", "CPU:0"), ("server", "GPU:0")}
    assert made(a=["CPU:0"], b=["CPU:0"]) == {(h, d) for h in "ab" for d in ("CPU:0", "GPU:0")}


def test_a_second_gpu_alone_has_its_number():
    assert labels([Arm("GPU:1", "graph")]) == ["GPU:1 graph"]
    assert labels([Arm("CPU:0", "graph"), Arm("GPU:0", "graph")]) == ["CPU graph", "GPU graph"]
