"""A worker without TensorFlow, on a machine with three GPUs. Opens the requested GPUs.

Arguments: the number of rounds, and the seconds per round.
"""

import json
import os
import sys
import threading
import time

COUNT, LENGTH = int(sys.argv[1]), float(sys.argv[2])
OPENED = os.environ.get("TUILAB_GPUS", "0").split(",")
DEVICES = [{"name": "CPU:0"}, *({"name": f"GPU:{n}", "memory": 8 * (str(n) in OPENED)} for n in range(3))]
MACHINE = {"host": "h", "cpu": "c", "cores": 2, "memory": 1, "os": "o", "python": "3", "tensorflow": "2.21.0"}
stop = threading.Event()


def say(**event: object) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def arm_id(arm: dict) -> str:
    words = [arm["device"].lower().replace(":", ""), arm["mode"], arm["input"], arm["dtype"]]
    return ".".join([*words, *(["together"] if arm.get("together") else [])])


def measure(request: dict) -> None:
    run, (name, *_) = request["id"], [arm_id(arm) for arm in request["arms"]]
    device = request["arms"][0]["device"]
    about = {key: request[key] for key in ("scenario", "arms", "budget", "worker")}
    say(
        type="run-started",
        run=run,
        points=[{"index": 0}],
        machine={**MACHINE, "devices": DEVICES},
        at="",
        **about,
    )
    say(type="arm-status", run=run, arm=name, status="ok", device=device)
    say(type="placement", run=run, arm=name, nodes=[{"name": "x", "op": "MatMul", "device": device}])
    say(type="progress", run=run, stage="measuring")
    begun = time.monotonic()
    for index in range(COUNT):
        if stop.wait(LENGTH):
            break
        blocks = [{"arm": name, "point": 0, "calls": 1, "seconds": LENGTH}]
        elapsed = time.monotonic() - begun
        say(type="round", run=run, index=index, blocks=blocks, elapsed_s=elapsed)
    say(type="flag", run=run, code="precision", arm=name, message="± 3%; wanted ± 0%")
    say(type="flag", run=run, code="contention", message="the processor was shared")
    say(type="finished", run=run, status="cancelled" if stop.is_set() else "ok", elapsed_s=elapsed)


say(type="hello", protocol=1, tuilab="0.0", pid=os.getpid())
say(type="ready", machine={**MACHINE, "devices": DEVICES}, import_s=1.0, start_s=0.1)
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "cancel":
        stop.set()
    elif request["type"] == "measure":
        threading.Thread(target=measure, args=(request,), daemon=True).start()
