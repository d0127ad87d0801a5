from pathlib import Path
from typing import Any

import pytest

from tuilab.model.machine import Device, Machine
from tuilab.profile.xplane import Recording, XLine, read
from tuilab.worker.profile import answer


@pytest.fixture(scope="module")
def recording(tf: Any) -> Recording:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()

    def plane(name: str, *lines: tuple[str, int, list[Any]]) -> None:
        made = space.planes.add(name=name)
        for line_name, start_ns, events in lines:
            line = made.lines.add(name=line_name, timestamp_ns=start_ns)
            for name, shown, offset_ps, length_ps, values in events:
                number = len(made.event_metadata) + 1
                made.event_metadata[number].name, made.event_metadata[number].display_name = name, shown
                event = line.events.add(metadata_id=number, offset_ps=offset_ps, duration_ps=length_ps)
                for key, value in values.items():
                    stat = len(made.stat_metadata) + 1
                    made.stat_metadata[stat].name = key
                    if isinstance(value, int):
                        event.stats.add(metadata_id=stat, int64_value=value)
                    else:
                        made.stat_metadata[stat + 1].name = value
                        event.stats.add(metadata_id=stat, ref_value=stat + 1)

    plane("/host:CPU", ("python", 10, [("b:Mul", "Mul", 5000, 10, {}), ("call", "", 0, 90000, {"id": 4})]))
    plane("/host:CPU", ("emulated_stream/7", 10, [("c:Mul", "Mul", 0, 10, {})]))
    kernel = {"tf_op": "a/m:MatMul", "correlation_id": 9, "x": 1}
    plane(
        "/device:GPU:1",
        ("Stream #7(Kernel)", 20, [("sgemm", "", 0, 50, kernel)]),
        ("XLA Ops", 20, [("derived", "", 0, 50, {})]),
        ("CUPTI overhead", 20, [("overhead", "", 0, 50, {})]),
    )
    plane("/host:metadata", ("x", 0, [("x", "", 0, 1, {})]))
    space.errors.append("CUPTI could not be loaded or symbol could not be found.")
    return read(space.SerializeToString())


def test_gpu_streams_are_read_and_derived_lines_ignored(recording: Recording) -> None:
    names = [(line.name, line.device) for line in recording.lines]
    assert names == [("python", "CPU"), ("Stream #7(Kernel)", "GPU:1")]
    [kernel] = recording.lines[1].events
    assert kernel.stats == {"tf_op": "a/m:MatMul", "correlation_id": 9}
    assert (kernel.start, kernel.end) == (20_000, 20_050)
    assert recording.errors == ("CUPTI could not be loaded or symbol could not be found.",)


def test_events_are_ordered_by_start_and_graph_nodes_are_known(recording: Recording) -> None:
    first, second = recording.lines[0].events
    assert (first.name, first.op, first.stats) == ("call", "", {"id": 4})
    assert (second.name, second.op, second.start) == ("b:Mul", "Mul", 15_000)


def machine(*gpus: str) -> Machine:
    devices = tuple(Device(name) for name in ("CPU:0", *gpus))
    return Machine(host="h", cpu="c", cores=1, memory=1, os="o", python="3", tensorflow="2", devices=devices)


HOST_ONLY = Recording((XLine("python", "CPU", ()),))


def test_a_missing_privilege_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = tmp_path / "params"
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    monkeypatch.setattr(answer, "_DRIVER_PARAMETERS", parameters)
    [told] = answer.notes(machine("GPU:0"), "GPU:0", HOST_ONLY, 0)
    assert "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" in told
    assert "NVreg_RestrictProfilingToAdminUsers=0" in told
    parameters.write_text("RmProfilingAdminOnly: 0\n")
    [told] = answer.notes(machine("GPU:0"), "GPU:0", HOST_ONLY, 0)
    assert "NVreg" not in told and "log" in told


def test_a_cpu_arm_lacks_no_privilege() -> None:
    assert list(answer.notes(machine("GPU:0"), "CPU:0", HOST_ONLY, 0)) == []
    assert list(answer.notes(machine(), "CPU:0", HOST_ONLY, 2)) == [
        "the profiler lost 2 of the calls: its buffer was full"
    ]
