"""A window on a program that runs TensorFlow's own profiler server, by the public client of it.

`python -m tuilab.worker.attach HOST:PORT FOLDER MILLISECONDS` writes the profiler's file into the folder.
"""

import sys


def main(address: str, folder: str, milliseconds: str) -> None:
    """Look for that many milliseconds. Raises what the client raises if nobody answers."""
    import tensorflow as tf

    tf.profiler.experimental.client.trace(f"grpc://{address}", folder, int(milliseconds))


if __name__ == "__main__":
    main(*sys.argv[1:])
