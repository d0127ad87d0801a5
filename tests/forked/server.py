"""Has imported TensorFlow, and forks a worker for each process that asks (`sitecustomize.py`): python server.py ADDRESS"""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import resource
import selectors
import signal
import socket
import sys
import traceback
from typing import NoReturn

from sitecustomize import OWNER

MARK = "TUILAB_MARK"
"""By which the lab finds what a worker has left running (`tuilab.processes`)."""

APART = 200
"""Descriptors from here on are out of the way of those that a worker is to have."""


def received(asked: socket.socket) -> tuple[dict, list[int]] | None:
    """What a process that would be a worker says of itself, and its descriptors; null where it has gone meanwhile."""
    length, descriptors, _, _ = socket.recv_fds(asked, 4, 64)
    left, body = int.from_bytes(length, "big"), b""
    while len(body) < left and (more := asked.recv(left - len(body))):
        body += more
    if left and len(body) == left:
        return json.loads(body), descriptors
    for number in descriptors:
        os.close(number)
    return None


def kill(pid: int) -> None:
    """End a worker that has not been waited for, with all of its session; it may not have one yet."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(pid, signal.SIGKILL)


def become_worker(told: dict, descriptors: list[int]) -> NoReturn:
    """In the forked process: take the other's place."""
    os.setsid()
    apart = [fcntl.fcntl(number, fcntl.F_DUPFD, APART) for number in descriptors]
    os.closerange(0, APART)
    for number, wanted in zip(apart, told["descriptors"], strict=True):
        os.dup2(number, wanted)
    os.closerange(APART, APART + 2 * len(apart))
    os.environ.clear()
    os.environ.update(told["environment"])
    if mark := os.environ.get(MARK):
        os.environ[MARK] = (
            f"{mark}-forked"  # what ends with the worker is not the process whose place it takes
        )
    os.chdir(told["folder"])
    sys.path[:] = told["path"]
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


def serve(address: str) -> None:
    """Until the session of tests has ended."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address + ".new")
    listening.listen(64)
    os.rename(address + ".new", address)
    import tensorflow  # noqa: F401

    gc.collect()
    gc.freeze()
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    owner = os.pidfd_open(int(os.environ[OWNER]))
    selector.register(owner, selectors.EVENT_READ)
    workers: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj not in selector.get_map():  # ended by an event before this one
                continue
            if key.fileobj is listening:
                asked, _ = listening.accept()
                try:
                    given = received(asked)
                except OSError:
                    given = None
                if given is None:
                    asked.close()
                    continue
                pid = os.fork()
                if not pid:
                    become_worker(*given)
                for number in given[1]:
                    os.close(number)
                selector.register(asked, selectors.EVENT_READ, pid)
                selector.register(ended := os.pidfd_open(pid), selectors.EVENT_READ)
                workers[ended] = pid, asked
            elif key.fileobj == owner:
                for pid, _ in workers.values():
                    kill(pid)
                    os.waitpid(pid, 0)
                spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
                with open(os.path.join(os.path.dirname(address), "processor_seconds"), "a") as file:
                    file.write(f"{sum(each.ru_utime + each.ru_stime for each in spent):.1f}\n")
                return
            elif key.data is not None:  # whoever asked has gone
                kill(key.data)
                selector.unregister(key.fileobj)
            elif key.fileobj in workers:
                pid, asked = workers.pop(key.fileobj)
                _, status = os.waitpid(pid, 0)
                if asked in selector.get_map():
                    selector.unregister(asked)
                    with contextlib.suppress(OSError):
                        asked.send(str(status).encode())
                asked.close()
                selector.unregister(key.fileobj)
                os.close(key.fileobj)


if __name__ == "__main__" and not os.fork():
    serve(sys.argv[1])
