"""Turns recognized workloads into presets."""

import re
from collections.abc import Sequence

import msgspec

from tuilab.documents.example import Example
from tuilab.documents.presets.claims import claims, fit
from tuilab.documents.reading.document import Document
from tuilab.documents.recognise import Found
from tuilab.documents.rules import Finding
from tuilab.model.arms import INPUTS, MODES, ArmSelection
from tuilab.model.claims import Claim
from tuilab.model.preset import Preset, Source
from tuilab.model.sanitize import sanitize_line
from tuilab.model.scenario import Sweep

DEVICES = ("CPU", "GPU")
AS_WRITTEN = {"matmul": ("plain",), "stft": ("whole",)}
"""The variant that a document's code runs, if the workload has other variants with the same result."""
TITLES = {
    "stft": "STFT",
    "elementwise": "Elementwise ops",
    "matmul": "Matrix product",
    "copies": "Copies",
    "memory": "Memory",
    "pingpong": "Detour to the CPU",
    "input_pipeline": "Input pipeline",
    "training": "Training",
    "compression": "Compression",
    "contention": "Contention",
}
_OTHER = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 60


def presets(
    document: Document,
    example: Example,
    found: Sequence[Found],
    findings: Sequence[Finding],
    said: Sequence[str] = (),
) -> list[Preset]:
    """Return a preset for each workload of an example, named after the document.

    said: sentences about the example. A claim in a sentence belongs to the workload that the sentence fits
    best.
    """
    out: list[Preset] = []
    names: set[str] = set()
    for one in found:
        name = base = _name(document, example.block.number, one.workload)
        number = 2
        while name in names:
            name, number = f"{base}-{number}", number + 1
        names.add(name)
        own = [s for s in said if 0 <= fit(s, one) == max(fit(s, each) for each in found)]
        out.append(_preset(document, example, one, findings, name, claims(own, one.workload)))
    return out


def _preset(
    document: Document,
    example: Example,
    found: Found,
    findings: Sequence[Finding],
    name: str,
    stated: tuple[Claim, ...],
) -> Preset:
    lines = (min(found.lines | {found.line}), max(found.lines | {found.line}))
    heading = example.block.heading or document.title or document.id
    marks: dict[str, tuple[int, ...]] = {
        key: (value,)
        for key, value in found.parameters.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    if found.sweep is not None:
        marks |= dict.fromkeys(found.sweep.names, found.sweep.values)
    span = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} to {lines[1]}"
    wrong = "\n".join(f"Line {f.line}: {f.message}." for f in findings)
    return Preset(
        title=sanitize_line(f"{TITLES[found.workload]}: {heading}", 110),
        workload=found.workload,
        name=name,
        summary=" ".join(
            (f"Extracted automatically from {span} of the document; its code was not run.", *found.left_out)
        ),
        parameters=dict(found.parameters),
        marks=marks,
        arms=_with_compared(arms(found), stated),
        source=Source(
            document=document.number or document.id[:64],
            example=example.block.number,
            title=document.title,
            lines=lines,
        ),
        claims=stated,
        sweep=Sweep(axes=(found.sweep,)) if found.sweep is not None else None,
        wrong=sanitize_line(wrong, 3_900) if "\n" not in wrong else wrong[:3_900],
    )


def arms(found: Found) -> ArmSelection:
    """Return the arms that the code runs. If the code does not determine a property, such as the device, the
    selection leaves it open.
    """
    devices: tuple[str, ...] = DEVICES
    if found.devices and not found.anywhere and found.workload != "pingpong":
        devices = tuple(d for d in devices if d in found.devices)
    modes = MODES
    if found.modes:
        modes = tuple(m for m in MODES if m in found.modes or (m == "eager" and found.eager))
    return ArmSelection(
        devices=devices,
        modes=modes,
        inputs=tuple(i for i in INPUTS if i in found.inputs) or INPUTS,
        dtypes=tuple(found.dtypes) if len(found.dtypes) > 1 else (),
        variants=tuple(found.variants) or AS_WRITTEN.get(found.workload, ()),
    )


def _with_compared(selection: ArmSelection, stated: Sequence[Claim]) -> ArmSelection:
    """Add the devices and modes that the claims compare, because the code may run only one side of the
    comparison.
    """
    patterns = [pattern for claim in stated for pattern in claim.when.patterns]
    devices = {*selection.devices, *(pattern.device for pattern in patterns)}
    modes = {*selection.modes, *(pattern.mode for pattern in patterns)}
    return msgspec.structs.replace(
        selection,
        devices=tuple(device for device in DEVICES if device in devices),
        modes=tuple(mode for mode in MODES if mode in modes),
    )


def _name(document: Document, example: int, workload: str) -> str:
    """Return a name such as `000-1-stft`, from the document's number or else its id, the example, and the
    workload.
    """
    slug = _OTHER.sub("-", (document.number or document.id or "document").lower()).strip("-")
    tail = f"-{example}-{workload}"
    return (slug[: _LONGEST_NAME - len(tail) - 3].strip("-") or "document") + tail
