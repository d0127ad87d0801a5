"""Python loads this at its start where the folder is on PYTHONPATH: a worker of the tests is forked, not started.

Importing TensorFlow takes 2.9 seconds of a processor. `server.py` has done so once for a session of tests, and forks a
worker for each process that would be one; this one hands its descriptors over, waits, and ends as the worker does.
Who ends this process ends the worker with it.
"""

import os
import sys

FOLDER = "TUILAB_TESTS_FORKED"
"""Where the servers' sockets are; unset or empty where a test is to have a process of its own."""
OWNER = "TUILAB_TESTS_OWNER"
"""The process id of the session of tests, with which the servers end."""

AT_IMPORT = (
    "CUDA_VISIBLE_DEVICES", "EMULATED_GPUS", "EMULATED_PACE_NS", "LD_LIBRARY_PATH", "TF_CPP_MIN_LOG_LEVEL",
    "TF_PLUGGABLE_DEVICE_LIBRARY_PATH",
)  # fmt: skip
"""What is read when TensorFlow is imported: each setting of these has a server of its own."""


def forked(folder: str) -> None:
    """Be a worker by way of the server, and end; return where there is no server, to be one as a user's is."""
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
                # By the marks in their environments the lab finds what is to end with a worker.
                plain = {k: v for k, v in os.environ.items() if not k.startswith("TUILAB_") or k == OWNER}
                # It leaves at once a process of its own, which is nobody's child: who ends his own leaves it be.
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
