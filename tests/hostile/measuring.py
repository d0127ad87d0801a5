"""Handlers of the hostile worker, which answer requests with hostile text."""

from collections.abc import Sequence

import msgspec

from tests.hostile import scene
from tests.hostile.payloads import HUGE, KINDS, MILLION, Supply
from tuilab.model import events, requests
from tuilab.worker.context import Context

WORKERS = 50_000
"""Number of the worker's first payload. No other source numbers its payloads this high, so the worker's
tokens are unique.
"""
SUPPLY = Supply(first=WORKERS)
MANY = {"nodes": 60, "logs": 60}
HANDLERS: dict[type[requests.Request], str] = {
    requests.Measure: "tests.hostile.measuring:measure",
    requests.Declare: "tests.hostile.measuring:declare",
    requests.Ask: "tests.hostile.measuring:ask",
}
NOISE = (
    "\n".join(SUPPLY.text() for _ in range(2 * len(KINDS))).encode("utf-8", "surrogatepass")
    + b"\xff\xfe\x9b\n"
)
"""Hostile text for standard error, where libraries write."""


def start(context: Context, pending: Sequence[bytes] = ()) -> None:
    """Report that the worker is ready, and send long log messages."""
    context.send(events.Warming(stage=SUPPLY.text(), elapsed_s=0.0))
    context.machine = scene.machine(SUPPLY)
    context.send(events.Ready(machine=context.machine, import_s=0.1, start_s=0.1))
    for name, text in HUGE.items():
        # Sanitizing takes long, so only this text has its full length.
        whole = name == "ten-million"
        context.send(events.Log(text=f"{SUPPLY.next().token} {text if whole else text[: MILLION // 10]}"))


def measure(context: Context, request: requests.Request) -> None:
    assert isinstance(request, requests.Measure)
    for batch in scene.batches(request, context.machine, SUPPLY, **MANY):
        context.send(*batch)


def declare(context: Context, request: requests.Request) -> None:
    assert isinstance(request, requests.Declare)
    name = request.file.rpartition(":")[2]
    if name == "refused":
        raise RuntimeError(SUPPLY.text())
    declared = scene.declaration(SUPPLY, name)
    context.send(events.Declared(request=request.id, file=request.file, declaration=declared))


def ask(context: Context, request: requests.Request) -> None:
    assert isinstance(request, requests.Ask)
    answer = scene.profile(SUPPLY) if request.kind == "profile" else scene.forecast(SUPPLY)
    body = msgspec.Raw(msgspec.json.encode(answer))
    context.send(events.Answer(request=request.id, kind=request.kind, body=body))
