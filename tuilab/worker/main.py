"""The worker's main loop: requests in, events out."""

import importlib
import os
import queue
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext

from tuilab import landlock
from tuilab.model import events, requests
from tuilab.model.errors import UNDECODED, InputError
from tuilab.version import __version__
from tuilab.worker.channel import Channel
from tuilab.worker.confinement import confine_if_asked, confined_scope
from tuilab.worker.context import Context
from tuilab.worker.gpus import asked_before, replace_process, requested_gpus
from tuilab.worker.hang import HangWatch
from tuilab.worker.start import start
from tuilab.worker.tracebacks import text_of

# The handlers are imported on first use, so that a worker is ready as soon as TensorFlow is.
HANDLERS: dict[type[requests.Request], str] = {
    requests.Measure: "tuilab.worker.measure.run:measure",
    requests.Declare: "tuilab.worker.user:declare",
    requests.Ask: "tuilab.worker.ask:ask",
}


def main(channel: Channel) -> int:
    """Serve requests until the client closes its end of the pipe; return the exit code."""
    confine_if_asked()
    before = asked_before()
    if before is None:
        channel.send(
            events.Hello(
                protocol=events.PROTOCOL,
                tuilab=__version__,
                pid=os.getpid(),
                host=socket.gethostname(),
            )
        )
    inbox: queue.SimpleQueue[requests.Request] = queue.SimpleQueue()
    context = Context(channel)
    threading.Thread(target=_read, args=(channel, context, inbox), daemon=True).start()
    start(context, before or ())
    for line in before or ():
        _take(channel, context, inbox, channel.inward(line))
    while True:
        request = inbox.get()
        if isinstance(request, requests.Shutdown):
            return 0
        if isinstance(request, requests.Measure) and context.was_cancelled(request.id):
            channel.send(
                events.Finished(run=request.id, status="cancelled", message="stopped before it started")
            )
            continue
        if not _may_serve(context, request):
            continue
        _replace_process_for(context, request, inbox)
        if isinstance(request, requests.Measure):
            context.keep(request)
        context.own_code = isinstance(request, requests.Measure) and bool(request.scenario.file)
        _serve(context, request)
        channel.kept()


def _may_serve(context: Context, request: requests.Request) -> bool:
    """Return True if this process may read the files that the request needs. Otherwise refuse the request, so
    that the client starts another worker.
    """
    file = request.file if isinstance(request, requests.Declare) else ""
    file = request.scenario.file if isinstance(request, requests.Measure) else file
    scope = requests.confined_to(request)
    if not confined_scope() or scope == confined_scope() or not (scope or file):
        return True
    _say(context, request, f"this worker is confined to {confined_scope()}", "", "")
    return False


def _replace_process_for(
    context: Context, request: requests.Request, inbox: "queue.SimpleQueue[requests.Request]"
) -> None:
    """Replace the process if the request needs confinement or a GPU that is not open.

    Confining this process would leave TensorFlow's existing threads unconfined.
    """
    gpus = context.gpus
    wanted = gpus.lacks(requested_gpus(request, gpus))
    scope = requests.confined_to(request)
    confine = bool(scope) and not confined_scope() and landlock.version() > 0
    if not wanted and not confine:
        return
    if confine:
        os.environ[requests.CONFINE] = scope
    pending = [request]
    while not inbox.empty():
        pending.append(inbox.get())
    pending += [requests.Cancel(id=run) for run in context.cancelled]
    lines = [context.channel.outward(requests.encode(each)) for each in pending]
    replace_process(context.channel, wanted or gpus.opened, gpus.failed, gpus.why, lines)


def _serve(context: Context, request: requests.Request) -> None:
    module, _, name = HANDLERS[type(request)].partition(":")
    try:
        handler: Callable[[Context, requests.Request], None] = getattr(importlib.import_module(module), name)
        with HangWatch(context, request.id) if isinstance(request, requests.Measure) else nullcontext():
            handler(context, request)
    except InputError as error:
        _say(context, request, str(error), "", error.where)
    except Exception as error:
        _say(context, request, f"{type(error).__name__}: {text_of(error)}", traceback.format_exc(), "")


def _say(context: Context, request: requests.Request, message: str, detail: str, where: str) -> None:
    if isinstance(request, requests.Measure):
        context.send(events.Finished(run=request.id, status="failed", message=message, detail=detail))
    else:
        context.send(events.Refused(request=request.id, message=message, detail=detail, where=where))


def _read(channel: Channel, context: Context, inbox: "queue.SimpleQueue[requests.Request]") -> None:
    """Read requests until the client exits. Cancellations take effect at once, even while the main thread is
    busy.
    """
    for line in channel.lines():
        _take(channel, context, inbox, line)
    # The client has exited, so exit at once, even during a call, unless a run must be finished.
    channel.reader_gone()
    context.left_alone()


def _take(
    channel: Channel, context: Context, inbox: "queue.SimpleQueue[requests.Request]", line: bytes
) -> None:
    try:
        request = requests.decode(line)
    except UNDECODED as error:
        channel.send(events.Log(text=f"invalid request: {error}", level="error", source="tuilab"))
        return
    if isinstance(request, requests.Cancel):
        context.cancel(request.id)
    elif isinstance(request, requests.Painted):
        context.painted.set()
    elif isinstance(request, requests.Turn):
        context.turn.set()
    else:
        inbox.put(request)
