"""`tuilab`, whose worker is the one of this folder. Arguments: seconds of a round, a file, then the words."""

import sys
from pathlib import Path

from tuilab.runner import process

LENGTH, TRUTH, *WORDS = sys.argv[1:]
COMMAND = [sys.executable, str(Path(__file__).with_name("worker.py")), LENGTH, TRUTH]

for module in ("tuilab.runner.supervisor", "tuilab.runner.process"):
    __import__(module)
    sys.modules[module].local_command = lambda: COMMAND  # type: ignore[attr-defined]
process.local_command = lambda: COMMAND

if WORDS[0] == "script":
    from tuilab.lab import Lab

    async def main(lab: Lab) -> None:
        await lab.measure("stft-small", budget="quick")

    Lab.run(main)
else:
    sys.argv = ["tuilab", *WORDS]
    from tuilab.cli.main import main as command

    command()
