"""Imports TensorFlow, and forks a worker for each process that requests one (`sitecustomize.py`).

Usage: python server.py ADDRESS
"""

import contextlib
import gc
import json
import os
import resource
import selectors
import socket
import sys

from sitecustomize import OWNER

from tuilab.worker.zygote import become_worker, kill


def received(asked: socket.socket) -> tuple[dict, list[int]] | None:
    """Return a process's description and file descriptors; None if the process has exited."""
    length, descriptors, _, _ = socket.recv_fds(asked, 4, 64)
    left, body = int.from_bytes(length, "big"), b""
    while len(body) < left and (more := asked.recv(left - len(body))):
        body += more
    if left and len(body) == left:
        return json.loads(body), descriptors
    for number in descriptors:
        os.close(number)
    return None


def serve(address: str) -> None:
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
            if key.fileobj not in selector.get_map():  # an earlier event of this batch removed it
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
            elif key.data is not None:
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
