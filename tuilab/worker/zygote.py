"""A process that imports TensorFlow and forks workers: `python -m tuilab.worker.zygote DESCRIPTOR`.

The import is nearly the whole start-up cost of a worker. The zygote opens no device and starts no threads. It
forks a worker for each process that asks over the socket DESCRIPTOR (`tuilab.runner.forked`); the worker
takes over that process's descriptors, environment and folder. The zygote exits once the other end of the
socket is closed and its last worker has ended.
"""

import array
import contextlib
import fcntl
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

APART = 200
"""Lowest number to which received descriptors are moved, so that they do not collide with the worker's own
descriptors.
"""
LONGEST = 2**20
MOST_DESCRIPTORS = 64
READY = b"ready"


def received(asked: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Read one request for a worker. Return its description and descriptors; None at the end of the
    stream.
    """
    room = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
    body, found, _, _ = asked.recvmsg(LONGEST, room)
    descriptors = array.array("i")
    for level, kind, data in found:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    return (json.loads(body), list(descriptors)) if body else None


def kill(pid: int) -> None:
    """Kill a worker that has not been reaped yet, and its process group if the worker already leads one."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def become_worker(told: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """In the forked child, take over the requesting process's descriptors, environment and folder."""
    os.setsid()
    apart = [fcntl.fcntl(number, fcntl.F_DUPFD, APART) for number in descriptors]
    os.closerange(0, APART)
    for number, wanted in zip(apart, told["descriptors"], strict=True):
        os.dup2(number, wanted)
    os.closerange(APART, APART + 2 * len(apart))
    os.environ.clear()
    os.environ.update(told["environment"])
    os.chdir(told["folder"])
    if path := told.get("path"):
        sys.path[:] = path
    sys.argv, sys.orig_argv = ["tuilab.worker"], told["command"]
    importlib.invalidate_caches()
    from tuilab.worker.channel import Channel

    channel = Channel.from_stdio()
    from tuilab.worker.main import main

    code = 1
    try:
        code = main(channel)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def serve(asking: socket.socket) -> None:
    """Fork a worker for each request and report how the worker ended. Return once the socket is closed and
    the last worker has ended.
    """
    selector = selectors.DefaultSelector()
    selector.register(asking, selectors.EVENT_READ)
    workers: dict[int, tuple[int, socket.socket]] = {}
    open_ = True
    while open_ or workers:
        for key, _ in selector.select():
            if key.fileobj not in selector.get_map():  # an earlier event's handler removed this socket
                continue
            if key.fileobj is asking:
                try:
                    given = received(asking)
                except OSError:
                    given = None
                if given is None:
                    selector.unregister(asking)
                    open_ = False
                    continue
                told, descriptors = given
                answer = socket.socket(fileno=descriptors.pop())
                pid = os.fork()
                if not pid:
                    become_worker(told, descriptors)
                for number in descriptors:
                    os.close(number)
                selector.register(answer, selectors.EVENT_READ, pid)
                selector.register(ended := os.pidfd_open(pid), selectors.EVENT_READ)
                workers[ended] = pid, answer
            elif key.data is not None:  # the client has gone
                kill(key.data)
                selector.unregister(key.fileobj)
            elif key.fileobj in workers:
                ended = key.fd
                pid, answer = workers.pop(ended)
                _, status = os.waitpid(pid, 0)
                if answer in selector.get_map():
                    selector.unregister(answer)
                    with contextlib.suppress(OSError):
                        answer.send(str(status).encode())
                answer.close()
                selector.unregister(ended)
                os.close(ended)


def convert(tf: Any) -> None:
    """Trigger AutoGraph's one-time conversion of TensorFlow's wrappers, which saves each fork 0.1 s.

    Uses a separate graph, so that no device is opened.
    """
    with tf.Graph().as_default():
        tf.autograph.to_graph(lambda: tf.signal.stft(tf.zeros((64,)), 16, 8))()


def _main(descriptor: int) -> None:
    from tuilab.worker.start import import_tensorflow

    asking = socket.socket(fileno=descriptor)
    tf = import_tensorflow()
    # Modules that a worker loads before it measures.
    import numpy.random  # noqa: F401

    import tuilab.worker.main
    import tuilab.worker.measure.run  # noqa: F401
    from tuilab.workloads import shipped

    shipped()
    with contextlib.suppress(Exception):
        convert(tf)

    gc.collect()
    gc.freeze()
    asking.send(READY)
    serve(asking)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
