"""Whole texts that are made from random values equal the stored ones in every word and digit.

`--snapshot-update` updates the stored texts; review them. A long text would hide a change from its reviewer, so
most texts are stored as digests.
"""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from tests.report.test_whole_reports import Text, digest
from tests.report.values import value
from tuilab.analysis.machines import PresetRows
from tuilab.model.doctor import DoctorReport
from tuilab.model.explain import OpExplanation, ScenarioExplanation
from tuilab.model.machine import Machine
from tuilab.model.profile import Lane, Profile
from tuilab.model.program import Page, Together
from tuilab.model.roofline import Roofs
from tuilab.report import fact_check, program
from tuilab.report.doctor import doctor_text
from tuilab.report.explained import op_text, scenario_text
from tuilab.report.machines import machines_text
from tuilab.report.profiled import profile_text
from tuilab.report.roofs import roofs_text
from tuilab.report.trace import trace_json

WIDTHS = (0, 80, 50)


def page(seed: int) -> Iterator[str]:
    one, other = value(Page, seed), value(Page, seed % 7)
    yield from (write(one) for write in program.FORMATS.values())
    yield from program.compared(one, other)
    yield program.short_command(one)


def together(seed: int) -> Iterator[str]:
    found = value(Together, seed)
    if found.programs:
        yield from (program.programs_text(found), program.programs_json(found))


def machines(seed: int) -> Iterator[str]:
    yield from (machines_text(value(tuple[PresetRows, ...], seed), most) for most in WIDTHS)


def checked(seed: int) -> Iterator[str]:
    found = value(fact_check.FactCheck, seed)
    yield from (write(found) for write in (fact_check.text, fact_check.markdown, fact_check.html))


def explained(seed: int) -> Iterator[str]:
    yield from (op_text(value(OpExplanation, seed), most) for most in WIDTHS)
    yield from (scenario_text(value(ScenarioExplanation, seed), most) for most in WIDTHS)


def profiled(seed: int) -> Iterator[str]:
    found = replace(value(Profile, seed), lanes=(Lane("main", "CPU"), Lane("stream", "GPU:0")))
    yield from (profile_text(found, "CPU graph", most) for most in WIDTHS)
    yield trace_json(found).decode()


def roofs(seed: int) -> Iterator[str]:
    yield from (roofs_text(value(Machine, seed), value(Roofs, seed), most) for most in WIDTHS)


def doctor(seed: int) -> Iterator[str]:
    found = value(DoctorReport, seed)
    if found.probes:
        yield from (doctor_text(found, most) for most in (120, 60))


@pytest.mark.parametrize(
    "texts", [page, together, machines, checked, explained, profiled, roofs, doctor], ids=lambda f: f.__name__
)
def test_texts_of_random_values(texts: Callable[[int], Iterator[str]], snapshot):
    out = [next(texts(seed), "") for seed in range(1, 5)]
    out += [f"{seed} {' '.join(map(digest, texts(seed)))}" for seed in range(60)]
    assert "\n".join(out) == snapshot(extension_class=Text)
