"""Sends an observer's messages, steps and profiler windows, but does not use TensorFlow. At the end, prints
`end`.

Optional arguments: number of repetitions of the messages, and seconds between repetitions. Run with `-I -S`,
so that Python does not load the real observer.
"""

import contextlib
import json
import os
import socket
import struct
import sys
import time

MANY, EVERY_S = (int(sys.argv[1]), float(sys.argv[2])) if sys.argv[1:] else (4, 0.0)


def send_message(stream: socket.socket, kind: str, raw: bytes = b"", **about: object) -> None:
    body = json.dumps({"kind": kind, **about}).encode()
    with contextlib.suppress(OSError):  # the watching process may have exited
        stream.sendall(struct.pack(">II", len(body), len(raw)) + body + raw)


with socket.socket(socket.AF_UNIX) as stream:
    stream.connect(os.environ["TUILAB_WATCH"])
    send_message(
        stream, "hello", pid=os.getpid(), parent=os.getppid(), script="train.py", tensorflow="2.21.0", now=1.0
    )
    send_message(stream, "function", number=1, name="step", file="train.py", line=3, own=True)
    for many in range(MANY):
        calls = [[1, many * 25 + k + 1.0, many * 25 + k + 1.5, False] for k in range(25)]
        send_message(stream, "steps", now=many * 25 + 26.0, cpu=many * 20.0, calls=calls)
        send_message(stream, "window", b"x" * 20_000, start=many * 25 + 1.0, end=many * 25 + 1.4, steps=4)
        time.sleep(EVERY_S)
    send_message(stream, "end", now=MANY * 25 + 2.0, cpu=MANY * 20.0)
if EVERY_S:
    print("end", flush=True)
