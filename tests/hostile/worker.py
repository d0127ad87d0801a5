"""A worker without TensorFlow that means harm: the real channel and main loop, payloads in all that it says.

python worker.py tuilab.worker '{"nodes": 2000, "logs": 2000}'
"""

import json
import os
import sys
from pathlib import Path

from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # As the real worker does: the protocol leaves fd 1 before anything else is imported.
    channel = Channel.from_stdio()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.hostile import measuring
    from tuilab.worker import main as loop

    measuring.MANY.update(json.loads(sys.argv[2]))
    os.write(2, measuring.NOISE)
    loop.HANDLERS = measuring.HANDLERS
    loop.start = measuring.start
    raise SystemExit(loop.main(channel))
