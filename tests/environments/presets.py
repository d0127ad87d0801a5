"""Runs every preset on the CPU in each TensorFlow version. Compares success and placement with tuilab's own
version.

`python -m tests.environments.presets FOLDER [VERSION…]` measures, writes one file per version, and prints a
table of all files in FOLDER, which docs/measuring.md includes. Rounds are few and short, because the arms
only need to run.
"""

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from tests.environments import build
from tuilab.interpreter import environment
from tuilab.lab import Lab
from tuilab.model.environment import Environment
from tuilab.model.scenario import Budget

SHORT = Budget(name="quick", warm_s=0.02, warm_limit_s=0.2, precision=1.0, rounds=1, limit_s=0.2)
MOST_NAMED = 4


class Seen(msgspec.Struct):
    status: str
    wrong: list[str]
    measured: int
    refused: int
    """Number of arms that cannot run on this machine, such as GPU arms."""
    ops: dict[str, dict[str, list[str]]]


async def measured(own: Environment | None) -> dict[str, Seen]:
    found = {}
    async with Lab(environments=[own] if own else []) as lab:
        lab.load_presets()
        await lab.ready()
        for preset in lab.state.presets.all:
            lab.state.change(await lab.settings(preset.name))
            request = msgspec.structs.replace(lab.state.request("quick", preset.sweep), budget=SHORT)
            result = await lab.carry_out(request)
            ops: dict[str, dict[str, list[str]]] = {}
            for row in result.placement:
                if row.kind == "op" and row.device:
                    devices = ops.setdefault(row.arm, {}).setdefault(row.op, [])
                    devices[:] = sorted({*devices, row.device})
            failed = [f"{arm.label}: {arm.reason}" for arm in result.arms if arm.status == "failed"]
            said = [result.message] if result.status != "ok" else []
            counts = [sum(arm.status == status for arm in result.arms) for status in ("ok", "unavailable")]
            found[preset.name] = Seen(result.status, said + failed, *counts, ops)
            print(f"{preset.name}: {found[preset.name].status}", *said, *failed, file=sys.stderr, flush=True)
    return found


def differences(here: Seen, there: Seen) -> list[str]:
    """Return a sentence for each op that runs on different devices in the two versions, or exists in only
    one.
    """
    found: dict[str, None] = {}
    for arm in here.ops.keys() & there.ops.keys():
        mine, others = here.ops[arm], there.ops[arm]
        for op in mine.keys() & others.keys():
            if mine[op] != others[op]:
                found[f"{op} on {', '.join(mine[op])} instead of {', '.join(others[op])}"] = None
        for sign, ops in (("+", mine.keys() - others.keys()), ("−", others.keys() - mine.keys())):
            found.update({f"{sign}{op}": None for op in ops})
    return sorted(found)


def table(every: dict[str, dict[str, Seen]]) -> Iterable[str]:
    """Yield a row per preset: whether all arms ran in each version, and the differences from the newest
    version.
    """
    versions = [version for version in every if version != build.NEWEST]
    newest = every[build.NEWEST]
    yield "| preset | arms | " + " | ".join([*versions, build.NEWEST]) + " |"
    yield "|---|---|" + "---|" * len(every)
    for name, there in newest.items():
        cells = []
        for version in versions:
            here = every[version].get(name)
            different = differences(here, there) if here else []
            more = f" … {len(different) - MOST_NAMED} more" if len(different) > MOST_NAMED else ""
            cells.append((_ran(here, there) + " " + ", ".join(different[:MOST_NAMED]) + more).strip())
        yield f"| {name} | {there.measured} | " + " | ".join([*cells, _ran(there, there)]) + " |"


def _ran(here: Seen | None, there: Seen) -> str:
    if here is None:
        return "not measured"
    whole = here.status == "ok" and not here.wrong and here.measured == there.measured
    return "ran" if whole else f"{here.measured} arms: {'; '.join(here.wrong) or here.status}"


def main(folder: Path, versions: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for version in versions:
        own = None if version == build.NEWEST else environment(str(build.environment(version)))
        (folder / version).write_bytes(msgspec.json.encode(asyncio.run(measured(own))))
    every = {
        file.name: msgspec.json.decode(file.read_bytes(), type=dict[str, Seen])
        for file in sorted(folder.iterdir())
    }
    print("\n".join(table(every)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
