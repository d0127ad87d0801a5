"""A hostile worker without TensorFlow: the real channel and main loop, with payloads in all messages.

python worker.py tuilab.worker '{"nodes": 2000, "logs": 2000}'
"""

import json
import os
import sys
from pathlib import Path

from tuilab.worker.channel import Channel

if __name__ == "__main__":
    # like the real worker, give fd 1 to the protocol before any other import
    channel = Channel.from_stdio()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from tests.hostile import measuring
    from tuilab.worker import main as loop

    measuring.MANY.update(json.loads(sys.argv[2]))
    os.write(2, measuring.NOISE)
    loop.HANDLERS = measuring.HANDLERS
    loop.start = measuring.start
    raise SystemExit(loop.main(channel))
