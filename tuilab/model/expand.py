"""Expands an arm selection into arms."""

from collections.abc import Mapping, Sequence

import msgspec

from tuilab.model.arms import EVERY, Arm, ArmSelection, family
from tuilab.model.parameters import Value
from tuilab.model.workload import Declaration


def expand(
    selection: ArmSelection,
    declaration: Declaration,
    values: Mapping[str, Value],
    devices: Sequence[str] = ("CPU:0",),
) -> tuple[Arm, ...]:
    """Return every sensible arm of the selection, CPU first.

    If the machine lacks a requested device family, the arms name that family's device 0, such as `GPU:0`, and
    the worker reports these arms as unavailable. Only devices other than CPU:0 get arms with copied inputs.
    devices: the machine's devices.
    """
    dtypes = selection.dtypes or ((str(values[declaration.dtype]),) if declaration.dtype else ("",))
    possible = [v for v in declaration.variants if not v.needs or values.get(v.needs)]
    variants = [v for v in possible if not selection.variants or v.name in selection.variants] or possible
    out: dict[Arm, None] = {}
    for device in _devices(selection, devices):
        inputs = [i for i in declaration.inputs if i in selection.inputs] or list(declaration.inputs[:1])
        if device == "CPU:0":
            inputs = ["resident"]
        for mode in (m for m in declaration.modes if m in selection.modes):
            names = [v.name for v in variants if family(device) in v.devices and mode in v.modes]
            names = names if declaration.variants else [""]
            for place in inputs:
                for dtype in _dtypes(dtypes, declaration, device):
                    out |= {Arm(device, mode, place, dtype, name): None for name in names}
    return tuple(out)


def expand_on(
    selection: ArmSelection,
    declaration: Declaration,
    values: Mapping[str, Value],
    devices: Mapping[str, Sequence[str]],
) -> tuple[Arm, ...]:
    """Return the arms for several hosts.

    A host gets arms only for device families that it has. If no host has a requested family, every host gets
    that family's arms. devices: each host's devices, by the host's name in `Arm.host`.
    """
    every = [
        msgspec.structs.replace(arm, host=host)
        for host, own in devices.items()
        for arm in expand(selection, declaration, values, own)
    ]
    have = {host: {family(device) for device in own} for host, own in devices.items()}
    somewhere = {kind for kinds in have.values() for kind in kinds}
    return tuple(a for a in every if family(a.device) in have[a.host] or family(a.device) not in somewhere)


def _dtypes(dtypes: Sequence[str], declaration: Declaration, device: str) -> Sequence[str]:
    """Drop dtypes that the device never supports, unless no dtype would remain."""
    if family(device) == "GPU":
        return dtypes
    return [dtype for dtype in dtypes if dtype not in declaration.gpu_dtypes] or dtypes


def _devices(selection: ArmSelection, devices: Sequence[str]) -> list[str]:
    out: list[str] = []
    for wanted in selection.devices:
        kind = family(wanted)
        present = [d for d in devices if family(d) == kind] or [f"{kind}:0"]
        if wanted == kind:
            # Use one GPU by default: eight GPUs would mean eight times as many arms, and eight GPU contexts.
            out += present[:1] if kind == "GPU" else present
        else:
            out += present if wanted.endswith(EVERY) else [wanted]
    return list(dict.fromkeys(sorted(out, key=lambda d: (family(d) != "CPU", d))))
