import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made import account
from tuilab.analysis.account import Known, largest, of_parts, of_profile, scaled, unknown

CALLS = st.lists(
    st.dictionaries(
        st.sampled_from(["compute", "input", "dispatch", "python", "scheduling", "sync", "copy_in", "mine"]),
        st.floats(1e-9, 10.0),
        min_size=1,
    ),
    min_size=1,
    max_size=8,
)


@given(
    CALLS,
    st.floats(1e-9, 10.0),
    st.floats(0, 100),
    st.lists(st.floats(0, 1), max_size=4),
    st.booleans(),
    st.dictionaries(st.sampled_from(["compute", "copy_in"]), st.floats(1e-9, 10.0)),
)
def test_parts_add_up_to_the_unprofiled_calls_then_to_the_median(
    calls, plain_s, events, own, opaque, on_device
) -> None:
    found = of_profile(calls, plain_s, events=events, own_python_s=own, opaque=opaque, on_device=on_device)
    assert sum(part.seconds for part in found.parts) == pytest.approx(plain_s)
    assert all(part.seconds >= 0 for part in found.parts)
    for part in found.parts:
        low, high = part.ci95_s or (part.seconds, part.seconds)
        assert 0 <= low <= part.seconds * (1 + 1e-9) and part.seconds <= high * (1 + 1e-9)
    held = scaled(found, 3 * plain_s)
    assert (
        sum(part.seconds for part in held.parts) == pytest.approx(held.total_s) == pytest.approx(3 * plain_s)
    )
    assert [held.share(part.phase) for part in held.parts] == pytest.approx(
        [found.share(part.phase) for part in found.parts]
    )


def test_profiler_overhead_is_subtracted_from_the_parts_it_slows() -> None:
    calls = [{"compute": 3e-3, "dispatch": 0.8e-3, "scheduling": 0.2e-3, "python": 0.1e-3}] * 4
    found = of_profile(calls, 3.6e-3, events=400)
    assert found.seconds("compute") == pytest.approx(3e-3) and found.seconds("dispatch") == pytest.approx(
        0.5e-3
    )
    few = of_profile(calls, 3.6e-3, events=40)
    # Calls without the profiler are faster by more than the 40 recorded events could cost. The rest of the
    # difference comes from a change of the machine's speed, which affects all parts.
    assert few.seconds("compute") == pytest.approx(3e-3 * 3.6 / 4.0)


def test_times_measured_by_the_device_are_not_scaled_with_the_host() -> None:
    calls = [{"copy_in": 4.5e-3, "compute": 4e-3, "dispatch": 1.5e-3}] * 3
    timed = {"copy_in": 4e-3, "compute": 4e-3}
    busy = of_profile(calls, 20e-3, on_device=timed)
    assert (busy.seconds("compute"), busy.seconds("copy_in")) == pytest.approx((4e-3, 5e-3))
    assert busy.seconds("dispatch") == pytest.approx(3e-3) and busy.seconds("not_known") == pytest.approx(
        8e-3
    )
    # The profiled calls took longer than the run's calls. Only the host's parts shrink, because the profiler or
    # a stall caused the difference.
    quick = of_profile(calls, 9e-3, on_device=timed)
    assert quick.seconds("dispatch") == pytest.approx(0.75e-3)
    assert quick.seconds("compute") == pytest.approx(4e-3) and 4e-3 < quick.seconds("copy_in") < 4.5e-3
    assert quick.not_known == 0 and quick.total_s == pytest.approx(9e-3)
    # If a whole call takes less than the device's profiled time, the device was slower in the profile, so
    # all parts are scaled.
    assert of_profile(calls, 5e-3, on_device=timed).seconds("compute") == pytest.approx(2e-3)


def test_profiled_calls_that_another_program_interrupted_are_left_out() -> None:
    """The mean profiled call is longer than an unprofiled call, because an emulated kernel of 0.5 ms waited
    for a processor.
    """
    calls = [{"compute": 0.5e-3, "dispatch": 1e-3}] * 9 + [{"compute": 20e-3, "dispatch": 40e-3}]
    found = of_profile(calls, 1.4e-3, on_device={"compute": 2.45e-3})
    assert found.seconds("compute") == pytest.approx(0.5e-3) and found.calls == 9
    waiting = [{"compute": 0.5e-3, "input": 0.1e-3}] * 9 + [{"compute": 0.5e-3, "input": 10e-3}]
    found = of_profile(waiting, 1.5e-3)
    assert found.calls == 10 and found.share("input_wait") > 0.6, "ordinary calls also wait for their input"


def test_python_inside_tensorflow_counts_as_dispatch() -> None:
    found = of_profile(
        [{"python": 5e-3, "dispatch": 1e-3, "compute": 1e-3}] * 3, 7e-3, own_python_s=[2e-3, 2e-3]
    )
    assert found.seconds("python") == pytest.approx(2e-3) and found.seconds("dispatch") == pytest.approx(4e-3)
    assert {part.phase: part.source for part in found.parts}["python"] == "timed apart"


def test_waiting_for_a_device_without_a_profile_is_unknown() -> None:
    found = of_profile([{"dispatch": 1e-3, "sync": 3e-3}], opaque=True)
    assert found.not_known == pytest.approx(0.75) and largest(found) == "not known"
    assert largest(of_profile([{"dispatch": 1e-3, "sync": 3e-3}])) == "launches"


def test_a_profile_that_started_with_empty_buffers_says_so_about_the_input() -> None:
    found = of_profile([{"input": 3e-3, "compute": 1e-3}], drained=True)
    assert {part.phase: part.source for part in found.parts} == {
        "input_wait": "drained input", "compute": "profiled",
    }  # fmt: skip


def test_intervals_are_as_wide_as_the_calls_vary() -> None:
    steady = of_profile([{"compute": 3e-3, "dispatch": 1e-3}] * 10)
    varied = of_profile([{"compute": 2e-3 + 2e-3 * (i % 2), "dispatch": 1e-3} for i in range(10)])
    assert of_profile([{"compute": 1.0}]).parts[0].ci95_s is None
    (low, high), (least, most) = steady.parts[1].ci95_s, varied.parts[1].ci95_s
    assert high - low < 1e-9 < most - least


def test_time_not_covered_by_separately_timed_parts_is_unknown() -> None:
    found = of_parts({"dispatch": Known(0.1, 0.01, "empty call")}, 1.0, "too long")
    assert (
        found.seconds("dispatch") == 0.1
        and found.not_known == pytest.approx(0.9)
        and found.note == "too long"
    )
    over = of_parts(
        {"copy_in": Known(1.0, 0.2, "timed apart"), "copy_out": Known(1.0, None, "timed apart")}, 1.0
    )
    assert over.seconds("copy_in") == pytest.approx(0.5) and not over.not_known
    assert over.parts[0].ci95_s == pytest.approx((0.4, 0.6)), "the interval is reduced by the same factor"


@pytest.mark.parametrize(
    ("parts", "by"),
    [
        ({"compute": 3.0, "dispatch": 0.38}, "compute"),
        ({"compute": 1.0, "dispatch": 1.5}, "launches"),
        ({"copy_in": 1.0, "copy_out": 1.0, "copy": 1.0, "compute": 2.0}, "copies"),
        ({"python": 1.0, "compress": 1.0, "compute": 1.5}, "python"),
        ({"input_wait": 1.0, "compute": 0.9, "not_known": 0.8}, "input"),
        ({"compute": 0.4, "not_known": 0.6}, "not known"),
    ],
)
def test_the_largest_part_is_the_bottleneck(parts: dict[str, float], by: str) -> None:
    assert largest(account(**parts)) == by


def test_an_empty_profile_gives_no_account() -> None:
    assert unknown(1.0, "why").not_known == 1
    with pytest.raises(ValueError, match="contains no call"):
        of_profile([])
    assert scaled(unknown(0.0, "why"), 2.0).seconds("not_known") == 2.0
    assert msgspec.json.decode(msgspec.json.encode(account(compute=1.0)), type=type(account())) == account(
        compute=1.0
    )
