"""The other hosts of a lab, by the events of their workers."""

from tests.tui.scripted import GPU_MACHINE
from tuilab.lab.hosts import Hosts
from tuilab.model.events import Ready, Refused, Warming, WorkerExited


def test_a_host_is_reported_ready_only_when_it_becomes_so():
    hosts = Hosts()
    hosts.add("gpu-07")
    ready = Ready(machine=GPU_MACHINE, import_s=1.0, start_s=1.0, origin="gpu-07")
    assert hosts.apply(Warming(stage="importing TensorFlow", elapsed_s=1.0, origin="gpu-07")) == []
    [line] = hosts.apply(ready)
    assert line.text.startswith("gpu-07 is ready: ") and hosts.apply(ready) == []
    assert hosts.apply(WorkerExited(code=0, message="", expected=True, origin="gpu-07")) == []
    assert hosts.known["gpu-07"].stage == "starting a fresh worker" and hosts.apply(ready) == []
    [line] = hosts.apply(WorkerExited(code=255, message="the connection dropped.", origin="gpu-07"))
    assert line.text == ("the connection dropped. The measured rounds are saved; measure again to retry.")
    # The host was ready before the connection broke, so a message reports that it is ready again.
    [line] = hosts.apply(ready)
    assert line.text.startswith("gpu-07 is ready: ") and hosts.known["gpu-07"].problem == ""
    [line] = hosts.apply(Refused(request="r", message="no such preset", origin="gpu-07"))
    assert line.text.startswith("no such preset. ") and hosts.known["gpu-07"].stage == "unavailable"
    assert hosts.apply(Warming(stage="x", elapsed_s=1.0, origin="another")) == []
