"""Runs `tuilab` with the worker in `worker.py`. Arguments: seconds per round, a file for the number of
finished rounds, and the command's words.

Instead of a command, `script` runs a short program that measures, and `serve` serves a lab with that worker.
"""

import sys
from pathlib import Path

from tuilab.runner import process

LENGTH, TRUTH, *WORDS = sys.argv[1:]
COMMAND = [sys.executable, str(Path(__file__).with_name("worker.py")), LENGTH, TRUTH]

for module in ("tuilab.runner.supervisor", "tuilab.runner.process"):
    __import__(module)
    sys.modules[module].local_command = lambda: COMMAND  # type: ignore[attr-defined]
process.local_command = lambda: COMMAND

if WORDS == ["script"]:
    from tuilab.lab import Lab

    async def main(lab: Lab) -> None:
        await lab.measure("stft-small", budget="quick")

    Lab.run(main)
else:
    if WORDS[:1] == ["serve"]:
        # The server starts each page's lab with this Python and `-P -m tuilab`.
        python = Path(TRUTH).with_name("python")
        python.write_text(f'#!/bin/sh\nshift 3\nexec {sys.executable} {__file__} {LENGTH} {TRUTH} "$@"\n')
        python.chmod(0o700)
        sys.executable = str(python)
    sys.argv = ["tuilab", *WORDS]
    from tuilab.cli.main import main as command

    command()
