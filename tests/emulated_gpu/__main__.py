"""Runs a command with emulated GPUs:

python -m tests.emulated_gpu [GPUS [EMULATED_GPU_…=VALUE …]] -- tuilab run stft-small --budget quick
"""

import os
import shutil
import sys
from pathlib import Path

from tests.emulated_gpu.build import Missing, environment


def main(words: list[str]) -> int:
    """Replace this process with the command. Returns 2 if emulated GPUs are unavailable."""
    if "--" not in words or not words[words.index("--") + 1 :]:
        print(__doc__, file=sys.stderr)
        return 2
    settings, command = words[: words.index("--")], words[words.index("--") + 1 :]
    try:
        made = environment(next((int(w) for w in settings if w.isdigit()), 1))
    except Missing as error:
        print(f"no emulated GPU: {error}", file=sys.stderr)
        return 2
    made |= dict(word.split("=", 1) for word in settings if "=" in word)
    beside = Path(sys.executable).parent / command[0]
    program = str(beside) if beside.exists() else shutil.which(command[0]) or command[0]
    os.execve(program, [program, *command[1:]], {**os.environ, **made})


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
