import pytest

from tests.made import MACHINE
from tests.tui.scripted import GPU_MACHINE
from tuilab.lab.hosts import Host, Hosts, about, checked_hosts, hosts_at, stop_of_hosts, stops_of_hosts
from tuilab.model.errors import InputError
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


def test_each_stop_of_the_device_slider_selects_its_hosts():
    known = ("gpu-07", "gpu-08")
    assert stops_of_hosts(()) == () and stops_of_hosts(known) == (*known, "everywhere")
    for stop, hosts in (("", ("",)), ("gpu-07", ("gpu-07",)), ("everywhere", ("", *known))):
        assert (hosts_at(stop, known), stop_of_hosts(hosts)) == (hosts, stop)
    assert hosts_at("GPU", known) == ("",)


def test_typed_hosts_are_checked():
    assert checked_hosts([]) == checked_hosts(["local"], "mine.py") == ("",)
    assert checked_hosts(["local", "gpu-07", "", "gpu-07"]) == ("", "gpu-07")
    with pytest.raises(
        InputError, match="local: mine.py is a file on this machine and is not sent to others"
    ):
        checked_hosts(["gpu-07"], "mine.py")
    for name in ("-oProxyCommand=id", "local", ""):
        with pytest.raises(InputError):
            Hosts().add(name)
    with pytest.raises(InputError):
        checked_hosts(["-oProxyCommand=id"])


def test_only_environments_of_this_machine_can_measure_own_code():
    hosts = Hosts()
    assert hosts.add("gpu-07") and not hosts.add("gpu-07") and hosts.add("old", "old=/env")
    assert hosts.reach("") == ("gpu-07", "old") and hosts.reach("mine.py") == ("old",)
    hosts.known["gpu-07"].problem = "no route"
    assert not hosts.add("gpu-07") and hosts.known["gpu-07"].problem == ""


def test_a_host_is_described_by_its_problem_its_devices_or_its_stage():
    assert about(Host("gpu-07")) == "connecting…"
    assert about(Host("gpu-07", machine=GPU_MACHINE, problem="no route")) == "no route"
    gpus = ", ".join(gpu.description or gpu.name for gpu in GPU_MACHINE.gpus)
    assert about(Host("gpu-07", machine=GPU_MACHINE)) == f"{gpus}, TensorFlow {GPU_MACHINE.tensorflow}"
    assert about(Host("h", machine=MACHINE)) == f"{MACHINE.cpu}, TensorFlow {MACHINE.tensorflow}"
