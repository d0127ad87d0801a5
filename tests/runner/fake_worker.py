"""A worker without TensorFlow, for tests of the runner. Its first argument sets its behavior."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

behaviour = sys.argv[1] if len(sys.argv) > 1 else "good"
VERSION = "2.20.0" if behaviour == "older" else "2.21.0"
MACHINE = {"host": "h", "cpu": "c", "cores": 2, "memory": 1, "os": "o", "python": "3", "tensorflow": VERSION}
if behaviour == "a gpu":
    MACHINE["devices"] = [{"name": "CPU:0"}, {"name": "GPU:0"}]


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def serve() -> None:
    stop = threading.Event()
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "cancel":
            stop.set()
        if request["type"] == "ask":
            say(type="answer", request=request["id"], kind="any", body={})
        if request["type"] == "declare":
            say(type="progress", run=request["id"], stage="reading 2.1 GB of weights", done=1, total=2)
            say(type="refused", request=request["id"], message="no model")
        if request["type"] != "measure":
            continue
        if behaviour == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        if behaviour == "own code":
            say(type="arm-status", run=request["id"], arm="a", status="failed", reason="ValueError")
        if behaviour == "hangs":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen(["sleep", "600"])
            say(type="log", text=f"child {child.pid}")
        elif behaviour == "slow":
            threading.Thread(target=run, args=(request["id"], stop), daemon=True).start()
        else:
            if behaviour == "broken text":
                for line in (b'{"type":"log","text":"\xff\xfe"}', b"\x80", b'{"type":"\xc3'):
                    sys.stdout.buffer.write(line + b"\n")
                sys.stdout.buffer.flush()
            rounds(request)
            if behaviour == "drops":
                sys.stderr.write("Connection to gpu-07 closed by remote host.\n")
                sys.exit(255)
            say(type="finished", run=request["id"], status="ok", message=f"worker {request['worker']}")


def rounds(request: dict) -> None:
    about = {key: request[key] for key in ("scenario", "arms", "budget", "worker")}
    if behaviour == "edited":
        about["code"] = {"own.py": f"version {request['worker'] // 2}", "same.py": "one"}
    say(type="run-started", run=request["id"], points=[{"index": 0}], machine=MACHINE, at="", **about)
    for index in range(3):
        arms = [arm_id(arm) for arm in request["arms"]]
        blocks = [{"arm": arm, "point": 0, "calls": 1, "seconds": 0.1} for arm in arms]
        say(type="round", run=request["id"], index=index, blocks=blocks, elapsed_s=0.1)


def arm_id(arm: dict) -> str:
    host = arm.get("host", "")
    device = arm["device"].lower().replace(":", "")
    return (f"{host}/" if host else "") + f"{device}.{arm['mode']}.resident.{arm.get('dtype', 'float32')}"


def run(identity: str, stop: threading.Event) -> None:
    status = "cancelled" if stop.wait(30) else "ok"
    say(type="finished", run=identity, status=status)


if behaviour == "stillborn":
    sys.stderr.write("cannot start: no such library\n")
    sys.exit(7)
say(type="hello", protocol=99 if behaviour == "foreign" else 1, tuilab="0.0", pid=os.getpid())
if behaviour == "noisy":
    sys.stderr.write("\x1b]0;title\x07W0000 00:00:1.1 1 x.cc:1] [@click=bad]careful\x1b[31m\n")
    sys.stdout.write('this is not an event\n{"type": "nonsense"}\n')
    sys.stdout.flush()
    time.sleep(0.1)
late = behaviour == "late" and not os.environ["TUILAB_CONFINE"]
if late:
    signal.signal(signal.SIGTERM, lambda *_: None)
    signal.pause()
say(type="ready", machine=MACHINE, import_s=1.0, start_s=0.1)
if late:
    signal.pause()  # the worker becomes ready just when the supervisor ends it
serve()
