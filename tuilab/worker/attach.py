"""Captures a profile from a program that runs TensorFlow's profiler server, using TensorFlow's public client.

`python -m tuilab.worker.attach HOST:PORT FOLDER MILLISECONDS` writes the profiler's file to the folder.
"""

import sys


def main(address: str, folder: str, milliseconds: str) -> None:
    """Profile for the given time. Raises the client's error if no server answers."""
    import tensorflow as tf

    tf.profiler.experimental.client.trace(f"grpc://{address}", folder, int(milliseconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
