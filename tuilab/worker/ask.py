"""Answers questions (`Ask` requests). Each kind of question has its own module."""

import importlib
from collections.abc import Callable, Iterator

import msgspec

from tuilab.model.errors import InputError
from tuilab.model.events import Answer
from tuilab.model.requests import Ask, Request
from tuilab.worker.context import Cancelled, Context

Body = msgspec.Struct
Answers = Callable[[Context, bytes], Iterator[Body]]

# Question kind → function that yields its answers, imported on first use.
QUESTIONS: dict[str, str] = {
    "api-table": "tuilab.worker.api_table:answer",
    "explain-op": "tuilab.worker.placement.explain:explain_op",
    "explain-scenario": "tuilab.worker.placement.explain:explain_scenario",
    "profile": "tuilab.worker.profile.answer:profile",
    "roofs": "tuilab.worker.roofs:roofs",
    "selftest": "tuilab.worker.selftest.run:selftest",
}


def ask(context: Context, request: Request) -> None:
    """Send the answers to a question, and mark the last one as final."""
    assert isinstance(request, Ask)
    if request.kind not in QUESTIONS:
        raise InputError("question", request.kind, "one of " + ", ".join(sorted(QUESTIONS)))
    module, _, name = QUESTIONS[request.kind].partition(":")
    answers: Answers = getattr(importlib.import_module(module), name)
    context.question = request.id
    try:
        _answer(context, request, answers(context, bytes(request.body)))
    except Cancelled:
        raise InputError("question", request.kind, "a request while no other request is running") from None
    finally:
        context.question = ""


def _answer(context: Context, request: Ask, bodies: Iterator[Body]) -> None:
    waiting: Body | None = None
    for body in bodies:
        if waiting is not None:
            _send(context, request, waiting, more=True)
        waiting = body
        more = getattr(type(body), "more", None)
        if isinstance(more, bool):
            _send(context, request, body, more=more)
            waiting = None
    if waiting is not None:
        _send(context, request, waiting, more=False)


def _send(context: Context, request: Ask, body: Body, *, more: bool) -> None:
    raw = msgspec.Raw(msgspec.json.encode(body))
    context.send(Answer(request=request.id, kind=type(body).__name__, body=raw, more=more))
