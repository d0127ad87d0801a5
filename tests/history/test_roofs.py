from pathlib import Path

import msgspec
import pytest

from tests.analysis.made_runs import machine
from tuilab.analysis.roofline import better
from tuilab.history import roofs as store
from tuilab.lab import roofs as lab
from tuilab.model.roofline import DeviceRoofs, Roofs

MACHINES = machine(gpu=False), msgspec.structs.replace(machine(gpu=False), cores=64)


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "folder", lambda: tmp_path / "data" / "machines")


def seen(key: str, flop_per_s: float) -> Roofs:
    device = DeviceRoofs(peaks={"float32": flop_per_s})
    return Roofs(machine=key, at="", seconds=1.0, sync_s=1e-6, devices={"CPU:0": device})


def peaks() -> dict[str, float]:
    return {each.machine: each.devices["CPU:0"].peaks["float32"] for each in store.load_roofs()}


def test_each_machine_has_its_own_best_roofs() -> None:
    here, other = MACHINES
    assert here.key != other.key
    store.keep(seen(other.key, 900e9), better)
    assert lab.of(here) is None
    kept = store.keep(seen(here.key, 100e9), better)
    assert (kept.machine, kept.devices["CPU:0"].peaks) == (here.key, {"float32": 100e9})
    assert peaks() == {other.key: 900e9, here.key: 100e9}
    store.keep(seen(here.key, 50e9), better)
    assert peaks() == {other.key: 900e9, here.key: 100e9}


def test_the_lab_gives_a_run_the_roofs_of_its_own_machine() -> None:
    here, other = MACHINES
    for key, top in ((other.key, 900e9), (here.key, 100e9)):
        lab.keep(seen(key, top))
    lab._of.clear()
    of_here, of_other = lab.of(here), lab.of(other)
    assert of_here is not None and of_here.devices["CPU:0"].peaks["float32"] == 100e9
    assert of_other is not None and of_other.devices["CPU:0"].peaks["float32"] == 900e9
