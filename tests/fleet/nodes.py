"""Workers without TensorFlow for the nodes of a Dask cluster."""

import sys
from pathlib import Path

from distributed import WorkerPlugin

FAKE = str(Path(__file__).parents[1] / "runner" / "fake_device.py")


class FakeWorkers(WorkerPlugin):
    """Gives every node, even if it joins later, a worker without TensorFlow that reports the given rounds."""

    name = "fake-workers"

    def __init__(self, rounds: int, seconds: float) -> None:
        self.command = [sys.executable, FAKE, str(rounds), str(seconds)]

    def setup(self, worker: object) -> None:
        from tuilab.fleet import node

        made = node.Node(self.command)
        node.node = lambda: made
