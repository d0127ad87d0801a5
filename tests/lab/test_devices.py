from tests.tui.data import device_sample
from tuilab.model.telemetry import CpuSample, DeviceSample, GpuSample, Link
from tuilab.presentation.devices import UNKNOWN, devices, link_words


def test_a_missing_device_figure_is_reported_as_missing_and_not_as_zero():
    silent = GpuSample(index=0, name="GPU")
    sample = DeviceSample(at=0.0, interval_s=None, cpu=CpuSample(), gpus=(silent,))
    for device in devices(sample):
        assert device.figures and all(figure.value is None for figure in device.figures)
        assert {figure.words for figure in device.figures} == {UNKNOWN}
    assert [figure.label for figure in devices(sample)[1].figures] == ["use", "memory", "power"]


def test_each_figure_has_its_value_and_maximum():
    host, gpu = devices(device_sample())
    found = {f"{d.name} {f.label}": f for d in (host, gpu) for f in d.figures}
    assert found["host use"].words == "41%" and len(found["host use"].each) == 96
    assert found["host clock"].words == "3.21 of 3.70 GHz" and found["host worker"].words == "3.92 CPUs"
    assert found["host worker"].most == 96 and "pid 4711" in found["host worker"].more
    memory = found["GPU:0 memory"]
    assert memory.words == "61.0 GB of 150 GB" and memory.value / memory.most == 61 / 150
    assert found["GPU:0 copies"].words == "3.40 GB/s" and found["GPU:0 copies"].most is None
    assert found["GPU:0 held"].warn and "2%" in found["host held"].words


def test_a_slowed_link_says_what_it_can_do():
    assert link_words(Link(generation=1, width=16, max_generation=5, max_width=16)) == (
        "PCIe 1 ×16 now, up to 5 ×16"
    )
    assert link_words(Link(generation=5, width=16, max_generation=5, max_width=16)) == "PCIe 5 ×16"
    assert link_words(Link()) == ""
