"""Forks test workers instead of starting them. Python loads this file at startup from a folder on PYTHONPATH.

Importing TensorFlow takes 2.9 seconds of processor time. `server.py` imports TensorFlow once per test session
and forks a worker for each process that should become one. This process passes on its descriptors, waits, and
exits as the worker does. Killing this process kills the worker too.
"""

import os
import sys

FOLDER = "TUILAB_TESTS_FORKED"
"""Environment variable with the folder of the servers' sockets. Without it, workers start without a fork."""
OWNER = "TUILAB_TESTS_OWNER"
"""Environment variable with the process id of the test session. The servers end with the session."""

AT_IMPORT = (
    "CUDA_VISIBLE_DEVICES", "EMULATED_GPUS", "EMULATED_PACE_NS", "LD_LIBRARY_PATH", "TF_CPP_MIN_LOG_LEVEL",
    "TF_PLUGGABLE_DEVICE_LIBRARY_PATH",
)  # fmt: skip
"""Variables that TensorFlow reads during its import. Each combination of values has its own server."""


def forked(folder: str) -> None:
    """Let the server fork a worker in place of this process, and exit when that worker exits.

    If there is no server, returns, and the worker starts as usual.
    """
    import fcntl
    import hashlib
    import importlib.util
    import json
    import socket
    import subprocess
    import time

    found = importlib.util.find_spec("tensorflow")
    decides = [sys.executable, found and found.origin, *(os.environ.get(name) for name in AT_IMPORT)]
    address = os.path.join(folder, hashlib.sha256(repr(decides).encode()).hexdigest()[:12])
    kept = [int(name) for name in os.listdir("/proc/self/fd")]
    kept = [number for number in kept if os.path.exists(f"/proc/self/fd/{number}")]
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(address):
            with open(f"{address}.log", "wb") as log:
                server = [sys.executable, "-P", os.path.join(os.path.dirname(__file__), "server.py"), address]
                # The lab finds the processes that must end with a worker by marks in their environments.
                plain = {k: v for k, v in os.environ.items() if not k.startswith("TUILAB_") or k == OWNER}
                # The server becomes a process without a parent, so that no lab ends it together with its own
                # children.
                failed = subprocess.call(
                    server,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env=plain,
                )
            patience = time.monotonic() + 60
            while not os.path.exists(address):
                if failed or time.monotonic() > patience:
                    return
                time.sleep(0.01)
    to_server = socket.socket(socket.AF_UNIX)
    try:
        to_server.connect(address)
    except OSError:
        return
    told = {"environment": dict(os.environ), "folder": os.getcwd(), "path": sys.path}
    told |= {"command": sys.orig_argv, "descriptors": kept}
    body = json.dumps(told).encode()
    socket.send_fds(to_server, [len(body).to_bytes(4, "big")], kept)
    to_server.sendall(body)
    for number in kept:
        os.close(number)
    status = int(to_server.recv(16) or b"9")
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if os.environ.get(FOLDER) and sys.orig_argv[-2:] == ["-m", "tuilab.worker"]:
    forked(os.environ[FOLDER])
