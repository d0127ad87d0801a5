"""What a worker is asked: every message of the protocol towards the worker."""

import json

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Point
from tuilab.model.roofline import Roofs
from tuilab.model.scenario import AS_IT_IS, Budget, Opening, Scenario, Sweep


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    id: str
    """Chosen by the asker; of a run, its id."""


class Measure(_Request, frozen=True, kw_only=True, tag="measure"):
    """Run a scenario; `id` becomes the run's id."""

    scenario: Scenario
    arms: tuple[Arm, ...]
    """What is to be measured side by side."""
    budget: Budget
    sweep: Sweep | None = None
    preset: str = ""
    """The name that the run has, "" for none."""
    pace: bool = False
    """Wait for `Painted` after each report (at most 0.25 s), so that painting and timing do not share the
    processor."""
    cold: bool = False
    """Rotate input buffers beyond the last-level cache."""
    latency: bool = True
    """Take a single synchronised call alongside each block."""
    phases: bool = True
    """Measure the phases of a call too."""
    placement: bool = True
    """Observe the placement too."""
    seed: int | None = None
    """Of the random order of arms; None for one by chance."""
    worker: int = 0
    """Which of several fresh workers this is, for `publish`."""
    zygote: int | None = None
    """Of a forked worker, which of the zygotes it is from; None for a fresh one."""
    waits: bool = False
    """Build the arms, say `TurnOver` and nothing else, and time once a `Turn` comes: other processes of the
    run do the same meanwhile, and measure one after another."""
    settled: tuple[str, ...] = ()
    """Of a further process, the arms that settled at once in an earlier one: they are warmed up briefly."""
    part: int = 0
    """Of a run whose arms must not share a process: which part of them this one measures, from 0."""
    spool: str = ""
    """A folder in which the run's events are kept until it is over, or `~` for the measuring machine's own;
    where the other side goes away, they are left there."""
    finish: bool = True
    """Where the other side goes away, the run is still resumed to its end."""
    points: tuple[Point, ...] = ()
    """Of a sweep, those to measure instead of its whole grid, to continue a run."""
    turns: bool = False
    """Other workers of this machine measure the same run: before each round say `TurnOver` and wait for a
    `Turn`, doing nothing meanwhile."""
    roofs: tuple[Roofs, ...] | None = None
    """Those known of the machines that may measure; a worker tells those of its own machine with the run, and
    where there are none measures them at its end. None: without roofs."""


class Cancel(_Request, frozen=True, kw_only=True, tag="cancel"):
    """Stop the run `id` between calls. Obeyed at once by the reading thread."""


class Painted(_Request, frozen=True, kw_only=True, tag="painted"):
    """The screen has drawn the last report of run `id`."""


class Turn(_Request, frozen=True, kw_only=True, tag="turn"):
    """It is this worker's turn in run `id`."""


class Declare(_Request, frozen=True, kw_only=True, tag="declare"):
    """Load `path/to/file.py:function` and answer with its declaration."""

    file: str
    """`path/to/file.py:name`, `model.keras` or `FOLDER:SIGNATURE`."""
    opening: Opening = AS_IT_IS
    """What a model file is allowed, and given."""


class Ask(_Request, frozen=True, kw_only=True, tag="ask"):
    """A question other than a run. `kind` names the handler, `body` is its own struct as JSON."""

    kind: str
    """The name of the handler."""
    body: msgspec.Raw = msgspec.Raw(b"{}")
    """Its own struct as JSON."""


class Shutdown(_Request, frozen=True, kw_only=True, tag="shutdown"):
    """Leave after what is under way."""


Request = Measure | Cancel | Painted | Turn | Declare | Ask | Shutdown

CONFINE = "TUILAB_CONFINE"
"""Environment variable of a worker that is confined from its start: what `confined_to` returns."""


class _Measured(msgspec.Struct):
    """The part of an `Ask`'s body that names what is measured."""

    scenario: Scenario | None = None


def confined_to(request: Request) -> str:
    """Return what the worker may open while it carries the request out, as JSON; "" if it is not confined."""
    if isinstance(request, Declare):
        return scope(request.file, request.opening)
    if isinstance(request, Measure):
        return scope(request.scenario.file, request.scenario.opening)
    if isinstance(request, Ask) and b'"scenario"' in bytes(request.body):
        scenario = msgspec.json.decode(request.body, type=_Measured).scenario
        return scope(scenario.file, scenario.opening) if scenario else ""
    return ""


def scope(file: str, opening: Opening) -> str:
    """Return the same of a scenario's file: a model that is not trusted, its data and its code."""
    own_code = file.endswith(".py") or file.rpartition(":")[0].endswith(".py")
    if not file or own_code or opening.trust:
        return ""
    return json.dumps([file, opening.data, opening.code])


_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)


def encode(request: Request) -> bytes:
    """Return one JSON line, newline included."""
    return _encoder.encode(request) + b"\n"


def decode(line: bytes) -> Request:
    """Return the request in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
