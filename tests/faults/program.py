"""Runs the lab with another worker: `python -m tests.faults.program '{"hangup": "end"}'`."""

import json
import os
import sys
import time
from pathlib import Path

from tuilab.runner.supervisor import Supervisor
from tuilab.streams import repair_streams
from tuilab.tui.app import LabApp, run
from tuilab.tui.options import Options

WORKER = str(Path(__file__).with_name("worker.py"))
PRESETS = Path(__file__).resolve().parents[1] / "tui" / "presets"


def step_clock(by: float, when: str) -> None:
    """Change the wall clock of this process by `by` seconds when the file `when` exists."""
    real = time.time
    time.time = lambda: real() + (by if os.path.exists(when) else 0.0)  # type: ignore[assignment]


def main(given: dict[str, object]) -> int:
    """Run the lab.

    worker: instructions for the worker. hangup, preset, rerun: options of the lab. faulty: let the help key
    raise an error.
    """
    if given.get("faulty"):
        LabApp.action_help = lambda app: 1 / 0  # type: ignore[method-assign, assignment, return-value]
    if "clock_step_s" in given:
        step_clock(float(str(given["clock_step_s"])), str(given["step"]))
    told = json.dumps(given.get("worker", {}))
    command = [sys.executable, "-P", WORKER, "tuilab.worker", told]
    return run(
        Options(
            presets=(PRESETS,),
            preset=str(given.get("preset", "stft-small")),
            hangup=str(given.get("hangup", "finish")),
            newcomer=False,
            rerun=bool(given.get("rerun", False)),
            runner=lambda on_event: Supervisor(on_event, command),
        )
    )


if __name__ == "__main__":
    repair_streams()
    sys.exit(main(json.loads(sys.argv[1])))
