"""A worker without TensorFlow, with the real channel and main loop. Measures rounds of known length and
causes faults.

python worker.py tuilab.worker '{"rounds": 30, "faults": {"7": "segv"}}'

Each reported round is also noted in the file named by `TUILAB_SIDE_LOG`. No noted round may be lost.
"""

import json
import sys
from pathlib import Path

from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # like the real worker, give fd 1 to the protocol before any other import
    channel = Channel.from_stdio()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.faults import measuring
    from tuilab.worker import main as loop

    measuring.SCRIPT = measuring.read(json.loads(sys.argv[2]))
    loop.HANDLERS = measuring.HANDLERS
    loop.start = measuring.start
    raise SystemExit(loop.main(channel))
