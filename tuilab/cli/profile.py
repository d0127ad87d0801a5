"""`tuilab profile`: where a call in a preset spends its time, op by op."""

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import click
import msgspec

from tuilab.cli.choose import Named, arm_options, make_resolver, subject_argument
from tuilab.cli.environment import python_option
from tuilab.cli.lab import with_lab
from tuilab.cli.options import columns, emit
from tuilab.lab import Lab
from tuilab.lab.settings import Settings
from tuilab.model.arms import HERE, Arm, family, labels
from tuilab.model.errors import InputError
from tuilab.model.files import write_bytes
from tuilab.model.machine import Machine
from tuilab.model.profile import Profile, ProfileArm, ProfileFile
from tuilab.report.profiled import profile_text
from tuilab.report.trace import trace_json

TRACE = "trace.json"


@click.command()
@python_option
@subject_argument()
@arm_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the profile. TensorBoard opens the folder, Perfetto opens trace.json.",
)
@click.option("--seconds", type=click.FloatRange(0.05, 60), default=0.5, show_default=True)
def profile(named: Named, output: Path | None, seconds: float, as_json: bool, **words: Any) -> None:
    """Profile one arm of PRESET (or your own path/to/file.py:name): per-op times, phases, a timeline.

    By default, profiles the graph on the GPU with resident input; without a GPU, the graph on the CPU.
    """
    for unused in ("budget", "cold"):
        words.pop(unused)
    choice = make_resolver(named, (), words)

    async def measure(lab: Lab) -> tuple[str, Profile, list[ProfileFile]]:
        return await ask(lab, await choice.resolve(lab), seconds, raw=output is not None)

    label, answer, files = with_lab(measure, scope=choice.scope)
    if as_json:
        emit(answer)
    else:
        click.echo(profile_text(answer, label, columns()))
    if output is not None:
        for path in save(output, answer, files):
            click.echo(f"wrote {path}", err=True)


async def ask(
    lab: Lab, settings: Settings, seconds: float, raw: bool
) -> tuple[str, Profile, list[ProfileFile]]:
    arm = pick(settings, (await lab.ready())[HERE])
    question = ProfileArm(scenario=settings.scenario, arm=arm, seconds=seconds, raw=raw)
    profiles: list[Profile] = []
    files: list[ProfileFile] = []
    async for answer in lab.questions.answers("profile", question):
        if answer.kind == "ProfileFile":
            files.append(msgspec.json.decode(answer.body, type=ProfileFile))
        else:
            profiles.append(msgspec.json.decode(answer.body, type=Profile))
    return labels([arm])[0], profiles[0], files


def pick(settings: Settings, machine: Machine) -> Arm:
    """Return the arm to profile: a graph with resident inputs, on a GPU if the machine has one."""
    devices = [d.name for d in machine.devices]
    arms = settings.arms_on(machine)
    present = [arm for arm in arms if arm.device in devices] or list(arms)
    if not present:
        raise InputError("arms", settings.preset.name, "at least one arm")
    return min(present, key=lambda a: (family(a.device) != "GPU", a.mode != "graph", a.input != "resident"))


def save(folder: Path, answer: Profile, files: Sequence[ProfileFile]) -> list[Path]:
    """Write the trace and the profiler's files to `folder`; return their paths.

    Raises InputError if the folder is not writable.
    """
    targets = [(folder / TRACE, trace_json(answer))]
    targets += [(folder / inside(file.path), file.data) for file in files]
    for path, data in targets:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, data)
        except OSError as error:
            raise InputError("--output", os.fspath(path), f"a writable folder: {error.strerror}") from None
    return [path for path, _ in targets]


def inside(path: str) -> PurePosixPath:
    parts = [part for part in PurePosixPath(path).parts if part not in ("..", "/", ".")]
    return PurePosixPath(*parts)
