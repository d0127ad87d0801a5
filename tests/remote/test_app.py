"""Another host in the lab, through real ssh and sshd: a run, a sweep, and a cut connection."""

import asyncio
import signal

import psutil
import pytest

from tests.remote.server import Sshd
from tuilab.history.store import Store
from tuilab.model.run import RunState
from tuilab.model.scenario import Axis, Sweep
from tuilab.tui.app import LabApp
from tuilab.tui.options import Options
from tuilab.tui.screens.lab import LabScreen


async def until(true, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.05)


@pytest.mark.real_worker
async def test_a_host_is_added_and_measured_and_swept_and_lost_and_found(sshd: Sshd, tmp_path, monkeypatch):
    for name, value in sshd.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    app = LabApp(Options(rerun=False, newcomer=False, store=lambda: Store.open(tmp_path / "history")))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: isinstance(app.screen, LabScreen) and app.screen.filled)
        lab = app.screen.lab
        lab_state = lab.state
        lab_state.budget = "quick"
        await until(lambda: lab_state.machine is not None)
        await pilot.press("H")
        await until(lambda: not isinstance(app.screen, LabScreen))
        await pilot.press(*"gpu", "minus", *"07", "enter")
        await until(lambda: "gpu-07" in lab_state.hosts.machines)
        lab.set(lab_state.settings.with_arms(modes=("graph",), devices=("CPU",)))
        await pilot.press("r")
        await until(lambda: lab_state.shown.status is not None)
        assert lab_state.shown.status == "ok"
        assert {arm.arm.host for arm in lab_state.shown.arms.values()} == {"", "gpu-07"}
        assert measured(lab_state.shown)
        assert set(lab_state.shown.machines) == {"", "gpu-07"}

        first = lab_state.shown.run
        sizes = (512, 2_048)
        lab.begin("quick", Sweep(axes=(Axis("samples", sizes),), refine=False))
        await until(lambda: lab_state.shown.run != first and measured(lab_state.shown))
        cut(app)
        await until(lambda: lab_state.shown.status is not None)
        lost = [arm for arm in lab_state.shown.arms.values() if arm.arm.host == "gpu-07"]
        assert lab_state.shown.status == "ok"
        assert all(any(flag.code == "host-lost" for flag in arm.flags) for arm in lost)
        assert measured(lab_state.shown)
        (here,) = [arm for arm in lab_state.shown.arms.values() if not arm.arm.host]
        assert len(here.cells) == len(sizes)

        swept = lab_state.shown.run
        lab.begin("quick")
        await until(lambda: lab_state.shown.run != swept and lab_state.shown.status is not None)
        assert lab_state.shown.status == "ok"
        assert {arm.arm.host for arm in lab_state.shown.arms.values()} == {"", "gpu-07"}
        assert measured(lab_state.shown)
        await app.leave()


def measured(state: RunState) -> bool:
    return bool(state.arms) and all(
        any(cell.samples for cell in arm.cells.values()) for arm in state.arms.values()
    )


def cut(app: LabApp) -> None:
    found = [child for child in psutil.Process().children() if child.name() == "ssh"]
    assert found
    for child in found:
        child.send_signal(signal.SIGKILL)
