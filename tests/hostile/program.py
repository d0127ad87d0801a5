"""Runs the lab with a hostile worker: `python -m tests.hostile.program FOLDER '{"nodes": 9}'`."""

import sys
from pathlib import Path

from tuilab.runner.supervisor import Supervisor
from tuilab.tui.app import run
from tuilab.tui.options import Options

WORKER = str(Path(__file__).with_name("worker.py"))


def main(folder: str, told: str) -> int:
    """Run the lab. folder: contains the presets. told: instructions for the worker, as JSON."""
    command = [sys.executable, "-P", WORKER, "tuilab.worker", told]
    return run(
        Options(
            presets=(Path(folder),),
            newcomer=False,
            rerun=False,
            runner=lambda on_event: Supervisor(on_event, command),
        )
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
