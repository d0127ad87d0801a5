"""Other hosts in the lab: the device slider, messages of their workers, and the page that adds a host."""

import re
import sys
from pathlib import Path

import msgspec
import pytest

from tests.lab.test_state import SMALL, lab_state
from tests.tui.lab import lab, opened, press, rest, text, until
from tests.tui.scripted import CPU_MACHINE, GPU_MACHINE
from tuilab.lab import settings as s
from tuilab.lab.command_line import command_line
from tuilab.lab.files import preferences
from tuilab.lab.hosts import EVERYWHERE, Hosts, about
from tuilab.model.errors import InputError
from tuilab.model.events import Caveat, Ready, Warming, WorkerExited
from tuilab.runner.multi_host import MultiHostRunner
from tuilab.runner.supervisor import Supervisor
from tuilab.tui.screens.lab import LabScreen
from tuilab.tui.screens.machines import MachinesScreen
from tuilab.workloads import find

FAKE = str(Path(__file__).parents[1] / "runner" / "fake_worker.py")
CHOSEN = s.Settings.of(SMALL)


def ready(host: str, machine=GPU_MACHINE) -> Ready:
    return Ready(machine=machine, import_s=1.0, start_s=0.1, origin=host)


def test_the_device_slider_has_a_stop_for_each_host_and_one_for_all():
    known = ("gpu-07", "gpu-08")
    assert s.device_choice(CHOSEN, CPU_MACHINE, known).parameter.options[-3:] == (*known, EVERYWHERE)
    for stop, hosts in (("gpu-07", ("gpu-07",)), (EVERYWHERE, ("", "gpu-07", "gpu-08")), ("CPU", ("",))):
        there = CHOSEN.at_stop("device", stop, known)
        assert there.hosts == hosts
        assert s.device_choice(there, CPU_MACHINE, known).value == stop
    assert s.device_choice(CHOSEN, CPU_MACHINE).parameter.options == ("CPU", "GPU", "both")


def test_each_host_has_arms_for_its_own_devices():
    there = CHOSEN.at_device(EVERYWHERE, ("gpu-07",))
    devices = there.devices(CPU_MACHINE, {"gpu-07": GPU_MACHINE})
    arms = there.request(devices, "quick").arms
    assert {(arm.host, arm.device) for arm in arms} == {
        ("", "CPU:0"),
        ("gpu-07", "CPU:0"),
        ("gpu-07", "GPU:0"),
    }
    assert CHOSEN.request(CHOSEN.devices(CPU_MACHINE, {}), "quick").arms == CHOSEN.arms_on(CPU_MACHINE)


def test_another_preset_stays_on_the_hosts_and_an_own_file_here():
    there = CHOSEN.at_device("gpu-07", ("gpu-07",))
    assert CHOSEN.where(there).hosts == ("gpu-07",)
    own = s.Settings.of(SMALL, s.Own(find("stft").declaration, "/a/b.py:f"))
    assert own.where(there).hosts == ("",)
    with pytest.raises(InputError, match="not sent"):
        own.at_device("gpu-07", ("gpu-07",))


def test_an_own_file_runs_in_environments_of_this_machine():
    hosts = Hosts()
    hosts.add("gpu-07")
    hosts.add("old", "old=~/venvs/tf216")
    own = s.Settings.of(SMALL, s.Own(find("stft").declaration, "/a/b.py:f"))
    assert hosts.reach("") == ("gpu-07", "old") and hosts.reach(own.file) == ("old",)
    there = own.at_device(EVERYWHERE, hosts.reach(own.file), hosts.environments)
    assert there.hosts == ("", "old")
    assert own.where(there, hosts.environments).hosts == ("", "old")
    assert "--env lab=. --env old=" in command_line(there, environments={"old": "old=/envs/old"})
    with pytest.raises(InputError, match="not sent"):
        own.at_device("gpu-07", hosts.reach(""), hosts.environments)


def test_the_duration_of_a_run_of_environments_counts_all_processes():
    state = lab_state()
    state.change(CHOSEN)
    alone = float(re.search(r"about (\d+) s", state.cost)[1])
    state.hosts.add("old", "old=~/venvs/tf216")
    state.change(CHOSEN.at_device(EVERYWHERE, state.hosts.reach(""), state.hosts.environments))
    minutes, seconds = re.search(r"about (?:(\d+) min ?)?(?:(\d+) s)?", state.cost).groups(default="0")
    assert int(minutes) * 60 + int(seconds) > 2 * alone


def test_the_duration_of_a_run_counts_only_the_arms_of_devices_that_exist():
    state = lab_state()
    state.change(CHOSEN)
    every = float(re.search(r"about (\d+) s", state.cost)[1])
    state.machine = msgspec.structs.replace(state.machine, devices=state.machine.devices[:1])
    arms = state.settings.arms_on(state.machine)
    absent = [arm for arm in arms if arm.device != state.machine.devices[0].name]
    assert absent and float(re.search(r"about (\d+) s", state.cost)[1]) < every


def test_the_command_line_names_the_hosts():
    assert "--host gpu-07" in command_line(CHOSEN.at_device("gpu-07", ("gpu-07",)))
    assert "--host local --host gpu-07" in command_line(CHOSEN.at_device(EVERYWHERE, ("gpu-07",)))
    assert "--host" not in command_line(CHOSEN)


def test_messages_of_a_remote_worker_do_not_describe_this_machine():
    made = lab_state(CPU_MACHINE)
    made.hosts.add("gpu-07")
    made.apply(Warming(stage="importing TensorFlow", elapsed_s=1.0, origin="gpu-07"))
    assert about(made.hosts.known["gpu-07"]) == "importing TensorFlow…"
    made.apply(ready("gpu-07"))
    assert made.machine == CPU_MACHINE
    assert made.worker.phase == "ready"
    assert made.hosts.machines == {"gpu-07": GPU_MACHINE}
    assert "H200" in about(made.hosts.known["gpu-07"])
    made.apply(WorkerExited(code=255, message="gpu-07: the connection dropped", origin="gpu-07"))
    assert made.worker.phase == "ready"
    assert about(made.hosts.known["gpu-07"]) == "gpu-07: the connection dropped"
    assert any("measure again" in line.text for line in made.log)
    made.apply(ready("gpu-07"))
    assert "H200" in about(made.hosts.known["gpu-07"])


def test_a_name_that_ssh_could_misread_is_refused():
    hosts = Hosts()
    for name in ("local", "-oProxyCommand=x", "a b", ""):
        with pytest.raises(InputError):
            hosts.add(name)
    assert hosts.add("gpu-07") and not hosts.add("gpu-07")


def party(on_event) -> MultiHostRunner:
    """Return a runner with this machine and other hosts. The name of each host determines how its fake worker
    behaves.
    """

    def member(host: str, listen) -> Supervisor:
        return Supervisor(listen, [sys.executable, FAKE, host or "good"], name=host)

    return MultiHostRunner(on_event, ("",), member)


def environments(on_event) -> MultiHostRunner:
    """Return a runner whose hosts are environments on this machine."""

    def member(host: str, listen) -> Supervisor:
        return Supervisor(listen, [sys.executable, FAKE, "good"], name=host)

    return MultiHostRunner(on_event, ("",), member, here=lambda host: True)


async def test_a_host_is_added_and_used_and_lost_and_the_lab_continues(tmp_path):
    app = lab(tmp_path, runner=party, rerun=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LabScreen) and app.screen.filled)
        lab_state = app.screen.lab.state
        await until(pilot, lambda: lab_state.machine is not None)
        await pilot.press("H")
        await until(pilot, lambda: not isinstance(app.screen, LabScreen))
        assert "ssh HOST true" in text(app)
        await pilot.press(*"drops", "enter")
        await until(pilot, lambda: "drops" in lab_state.hosts.machines)
        assert lab_state.settings.hosts == ("", "drops")
        await pilot.press("r")
        await until(pilot, lambda: lab_state.shown.status is not None)
        lost = [arm for arm in lab_state.shown.arms.values() if arm.arm.host == "drops"]
        assert lab_state.shown.status == "ok" and lost
        assert any(
            isinstance(flag, Caveat) and flag.code == "host-lost" for arm in lost for flag in arm.flags
        ) or all(arm.status == "failed" for arm in lost)
        first = lab_state.shown.run
        await pilot.press("r")
        await until(pilot, lambda: lab_state.shown.run != first and lab_state.shown.status is not None)
        assert lab_state.shown.status == "ok"


async def test_an_environment_is_added_and_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    app = lab(tmp_path, runner=environments, rerun=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LabScreen) and app.screen.filled)
        lab_state = app.screen.lab.state
        await until(pilot, lambda: lab_state.machine is not None)
        await pilot.press("H")
        await until(pilot, lambda: not isinstance(app.screen, LabScreen))
        assert "tuilab installs and writes nothing" in text(app)
        await pilot.press(*"mine=", "full_stop", "enter")
        await until(pilot, lambda: "mine" in lab_state.hosts.machines)
        assert lab_state.settings.hosts == ("", "mine")
        assert "--env lab=. --env mine=." in lab_state.command()
    assert preferences().environments == ("mine=.",)


async def test_an_unusable_environment_is_reported_and_not_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    app = lab(tmp_path, runner=environments, rerun=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LabScreen) and app.screen.filled)
        await pilot.press("H")
        await until(pilot, lambda: not isinstance(app.screen, LabScreen))
        await pilot.press(*"mine=", "slash", *"none", "enter")
        told = lambda: any("a Python interpreter" in said.message for said in app._notifications)  # noqa: E731
        await until(pilot, told)
        assert not app.screen.lab.state.hosts.known
    assert preferences().environments == ()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_machines_page_lists_the_differences_between_runs(tmp_path, size):
    app = lab(tmp_path, rerun=False)
    async with opened(app, size) as pilot:
        await press(pilot, app, "r i enter 2 0 0 0 0 enter r m")
        await until(pilot, lambda: isinstance(app.screen, MachinesScreen) and len(app.screen.table.rows) == 2)
        await rest(pilot, app)
        assert "samples=256" in text(app) and "samples=20000" in text(app)
        await press(pilot, app, "escape h")
        await until(pilot, lambda: "GPU xla resident" in text(app))
        assert "CPU graph" in text(app), "the GPU's arm is listed with the CPU's"


async def test_the_machines_of_the_history_are_compared_and_filtered(tmp_path):
    app = lab(tmp_path)
    async with opened(app) as pilot:
        await press(pilot, app, "r")
        await rest(pilot, app)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, MachinesScreen) and app.screen.table.rows)
        page = app.screen
        (head,) = (line for line in text(app).splitlines() if "preset" in line and "fastest" in line)
        assert "with" not in head, "nothing differs between the runs of one preset"
        assert {line.row.summary.machine for line in page.table.rows} == {"gpu-07"}
        line = page.table.rows[0]
        replace = msgspec.structs.replace
        rows = (replace(line.row, summary=replace(line.row.summary, machine=f"node-{n}")) for n in range(50))
        differ = ("the faster device: CPU on a; GPU on b",)
        others = [replace(line, row=row, disagreements=differ) for row in rows]
        page.table.set_rows([line, *others])
        await pilot.press("slash", *"node-42")
        await until(pilot, lambda: page.table.shown == 1)
        assert "node-42" in text(app)
        await pilot.press("enter")
        assert "the faster device" in text(app)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, LabScreen))
