"""Replaces a worker process: passes lines between its standard streams and a socket."""

import os
import socket
import sys
import threading


def pump(read, write) -> None:
    while data := read(65_536):
        write(data)


def main(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        threading.Thread(target=pump, args=(line.recv, lambda data: os.write(1, data)), daemon=True).start()
        pump(lambda size: os.read(0, size), line.sendall)


if __name__ == "__main__":
    main(sys.argv[1])
