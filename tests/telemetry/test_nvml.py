import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.telemetry.fake_nvml import NO_PERMISSION, NOT_LOADED, NOT_SUPPORTED, FakeNvml
from tuilab import nvml
from tuilab.model.telemetry import GpuProcess, Link


def test_facts_in_base_units(fake: FakeNvml):
    facts = nvml.Nvml().facts(0)
    assert (facts.name, facts.compute_capability, facts.driver, facts.cuda) == (
        "NVIDIA Test GPU",
        "8.9",
        "570.86.15",
        "12.8",
    )
    assert (facts.sm_clock_max_hz, facts.memory_clock_max_hz, facts.power_limit_w) == (2e9, 1e10, 300.0)


def test_a_sample_in_base_units(fake: FakeNvml):
    now = nvml.Nvml().sample(0)
    assert (now.use, now.memory_use, now.memory_used, now.memory_total) == (0.97, 0.4, 2_000, 8_000)
    assert (now.sm_clock_hz, now.memory_clock_hz, now.power_w, now.temperature_c) == (1.5e9, 9e9, 251.5, 83)
    assert now.throttle == ("at its power limit", "hot: slowed by the hardware")
    assert now.link == Link(generation=4, width=8, max_generation=4, max_width=16)
    assert now.processes == (GpuProcess(42, "python3", 3_000, 0.8), GpuProcess(7, "", None, 0.0))
    assert now.unread == {}


def test_without_process_figures_from_the_driver_none_are_invented(fake: FakeNvml):
    fake.refuse = {"nvmlDeviceGetProcessUtilization": NOT_SUPPORTED}
    now = nvml.Nvml().sample(0)
    assert [p.use for p in now.processes] == [None, None] and now.unread == {}, (
        "an idle GPU also returns this error"
    )


def test_link_traffic_is_a_rate_between_two_samples(fake: FakeNvml, monkeypatch: pytest.MonkeyPatch):
    clock = iter([10.0, 12.0, 13.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    session = nvml.Nvml()
    assert session.sample(0).link_sent is None
    fake.counters = [5_000, 12_000]
    second = session.sample(0)
    assert (second.link_sent, second.link_received) == (2_000.0, 5_000.0)
    fake.counters = [0, 13_000]  # this counter has overflowed
    assert session.sample(0).link_sent is None


def test_unreadable_figures_are_null_with_a_reason(fake: FakeNvml):
    fake.refuse = {
        "nvmlDeviceGetPowerUsage": NOT_SUPPORTED,
        "nvmlDeviceGetComputeRunningProcesses": NO_PERMISSION,
        "nvmlDeviceGetGraphicsRunningProcesses": NO_PERMISSION,
        "nvmlDeviceGetCurrentClocksEventReasons": NOT_SUPPORTED,
        "nvmlDeviceGetFieldValues": NOT_SUPPORTED,
    }
    now = nvml.Nvml().sample(0)
    assert now.power_w is None and now.processes is None and now.throttle == () and now.link_sent is None
    assert now.unread["power"] == "Not Supported" and now.unread["processes"] == "Insufficient Permissions"
    assert set(now.unread) == {"power", "processes", "throttle reasons", "link traffic"}
    assert now.use == 0.97  # the other figures are still reported


def test_older_names_of_the_throttle_call_are_used(fake: FakeNvml):
    del fake.answers["nvmlDeviceGetCurrentClocksEventReasons"]
    fake.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x20
    assert nvml.Nvml().sample(0).throttle == ("hot: slowed by the driver",)


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(nvml.NvmlUnavailable, match="nvidia-ml-py is not installed"):
        nvml.Nvml()


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount"])
def test_without_a_driver_the_nvml_message_is_reported_and_nothing_stays_open(fake: FakeNvml, call: str):
    fake.refuse = {call: NOT_LOADED}
    with pytest.raises(nvml.NvmlUnavailable, match="Driver Not Loaded"):
        nvml.Nvml()
    assert fake.opened == 0


def test_throttling_is_counted_in_seconds_by_index_and_by_bus(fake: FakeNvml):
    expected = {"at its power limit": 2.0, "slowed down by heat": 0.0}
    assert nvml.slowed(0) == nvml.slowed("0000:01:00.0") == expected
    assert fake.opened == 1  # one NVML session for all queries
    assert nvml.slowed(5) == nvml.slowed("0000:99:00.0") == {}


@pytest.mark.parametrize(
    ("own", "use", "others"),
    [
        (42, {42: 80, 7: 0}, []),  # process 7 holds a context but computes nothing
        (42, {42: 80, 7: 30}, [7]),
        (42, {7: 30}, [7]),
        (1, {42: 80, 7: 0}, []),  # in a container, the driver uses another id for this process
        (1, {42: 80, 7: 30}, [7]),
        (1, {}, []),
    ],
)
def test_a_gpu_is_shared_with_those_that_compute(fake: FakeNvml, monkeypatch, own, use, others):
    monkeypatch.setattr("os.getpid", lambda: own)
    fake.use = use
    assert [p.pid for p in nvml.busy_processes(0, 1.0)] == others


def test_without_process_figures_no_process_is_named(fake: FakeNvml):
    fake.refuse = {"nvmlDeviceGetProcessUtilization": NOT_SUPPORTED}
    assert nvml.busy_processes(0, 1.0) == []


def test_without_nvml_there_are_no_gpu_figures(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    nvml._shared.cache_clear()
    assert nvml.slowed(0) == {} and nvml.busy_processes(0, 1.0) == []
    nvml._shared.cache_clear()


@given(st.integers(0, 2**64 - 1))
def test_every_throttle_reason_except_idle_has_words(mask: int):
    found = nvml.words(mask)
    assert (not found) == (mask & ~nvml.IDLE == 0)
    assert len(set(found)) == len(found)
