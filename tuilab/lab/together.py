"""Measures each device alone and then all devices at once. Each device has its own worker."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from tuilab.lab.runner import Runner, RunnerFactory
from tuilab.model.errors import InputError
from tuilab.model.machine import Machine
from tuilab.model.requests import Measure
from tuilab.runner.concurrent_devices import ConcurrentDeviceRunner, twins
from tuilab.runner.host import Listener
from tuilab.runner.multi_host import MultiHostRunner


def runner_of_each(request: Measure, machines: Mapping[str, Machine]) -> RunnerFactory:
    """Return a factory for runners with one worker per device and host. Raises InputError if no host has at
    least two devices to measure.
    """
    devices = {host: [d.name for d in machine.devices] for host, machine in machines.items()}
    wanted = devices_of(request, devices)
    if all(len(own) < 2 for own in wanted.values()):
        listed = ", ".join(device for own in devices.values() for device in own)
        expected = f"arms on at least two devices of one host; found {listed}"
        asked = ", ".join(device for own in wanted.values() for device in own)
        raise InputError("--together", asked, expected)
    return partial(_run_on, wanted)


def _run_on(devices: Mapping[str, Sequence[str]], on_event: Listener) -> Runner:
    def own(host: str, listener: Listener) -> ConcurrentDeviceRunner:
        return ConcurrentDeviceRunner(devices[host], host, listener)

    return MultiHostRunner(on_event, tuple(devices), own)


def doubled(request: Measure) -> Measure:
    return msgspec.structs.replace(request, arms=twins(request.arms))


def devices_of(request: Measure, present: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the devices to measure on each host: those of the arms' devices that the host has. If the host
    has none of them, all of the arms' devices are returned, present or not.
    """
    out = {}
    for host, own in present.items():
        named = list(dict.fromkeys(arm.device for arm in request.arms if arm.host == host))
        out[host] = [device for device in named if device in own] or named
    return out
