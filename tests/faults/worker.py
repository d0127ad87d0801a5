"""A worker without TensorFlow: the real channel and main loop, rounds of known length, faults on demand.

python worker.py tuilab.worker '{"rounds": 30, "faults": {"7": "segv"}}'

After a round is reported, it is also recorded in the file that `TUILAB_SIDE_LOG` names. These rounds must
never be lost.
"""

import json
import sys
from pathlib import Path

from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # Like the real worker, give fd 1 to the protocol before any other import.
    channel = Channel.from_stdio()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.faults import measuring
    from tuilab.worker import main as loop

    measuring.SCRIPT = measuring.read(json.loads(sys.argv[2]))
    loop.HANDLERS = measuring.HANDLERS
    loop.start = measuring.start
    raise SystemExit(loop.main(channel))
