"""Measures the program itself against its budgets.

python -m tests.benchmarks [--only NAME]... [--json FILE] [--markdown FILE] [--wait]

NAME: first_paint, ready, keys, disturbance, bytes, idle, scale, machines, startup, engine, answer, fidelity,
soak. Without NAME, all except the last two, which take minutes. `--wait` waits until the machine is idle.
Exit code 1 if a budget is not met.
"""

import argparse
import importlib
import os
import platform
import sys
import traceback
from pathlib import Path

import msgspec

from tests.benchmarks import still
from tests.benchmarks.budget import Row

BUDGETS = {
    "first_paint": "first_paint:measure",
    "ready": "ready:measure",
    "keys": "keys:measure",
    "slide": "slide:measure",
    "disturbance": "disturbance:measure",
    "bytes": "bytes_sent:measure",
    "idle": "idle:measure",
    "scale": "scale:measure",
    "machines": "machines:measure",
    "startup": "startup:measure",
    "engine": "efficiency:timed_share",
    "answer": "efficiency:answers",
    "fidelity": "fidelity:measure",
    "models": "models:measure",
    "cutting": "cutting:measure",
    "functions": "functions:measure",
    "captured": "captured:measure",
    "roofs": "roofs:measure",
    "bounds": "roofs:bounds",
    "soak": "soak:measure",
}
ASKED_FOR = {"soak", "fidelity", "models", "cutting", "functions", "captured", "roofs", "bounds"}
"""Benchmarks that run only if the command line names them."""


def measure(name: str) -> list[Row]:
    module, _, function = BUDGETS[name].partition(":")
    try:
        rows: list[Row] = getattr(importlib.import_module(f"tests.benchmarks.{module}"), function)()
        return rows
    except Exception as error:
        traceback.print_exc()
        text = " ".join(str(error).splitlines()[:1])
        return [Row(name, "–", f"not measured: {type(error).__name__}: {text}", False, "")]


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = names[0] if names else cpu
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"


def table(rows: list[Row], note: str) -> str:
    words = {True: "yes", False: "**no**", None: ""}
    lines = ["| budget | limit | measured | met |", "|---|---|---|---|"]
    lines += [f"| {r.budget} | {r.limit} | {r.measured} | {words[r.met]} |" for r in rows]
    return "\n".join(lines) + f"\n\n{machine()}. {note}\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(BUDGETS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--wait", action="store_true", help="wait until the machine is still")
    given = parser.parse_args()
    if given.wait:
        still.wait()
    watch, rows = still.Watch(), []
    for name in given.only or [name for name in BUDGETS if name not in ASKED_FOR]:
        found = measure(name)
        for row in found:
            print(f"{row.budget}: {row.measured} (limit {row.limit})", file=sys.stderr, flush=True)
        rows += found
    note = watch.said()
    shown = table(rows, note)
    print(shown)
    if given.markdown:
        given.markdown.write_text(shown)
    if given.json:
        body = {"machine": machine(), "note": note, "rows": rows}
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(body)) + b"\n")
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
