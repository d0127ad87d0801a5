"""The protocol: every message that a worker receives."""

import json

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Point
from tuilab.model.roofline import Roofs
from tuilab.model.scenario import AS_IT_IS, Budget, Opening, Scenario, Sweep
from tuilab.model.subject import Model, subject_of


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    id: str
    """Id that the sender chose; for a run, the run's id."""


class Measure(_Request, frozen=True, kw_only=True, tag="measure"):
    """Measure a scenario; `id` becomes the run's id."""

    scenario: Scenario
    arms: tuple[Arm, ...]
    """The arms to compare."""
    budget: Budget
    sweep: Sweep | None = None
    preset: str = ""
    """Name of the run's preset; "" if none."""
    apart: str = ""
    """How the settings differ from those of the preset's claims; see `RunStarted.apart`."""
    pace: bool = False
    """Wait up to 0.25 s for `Painted` after each report, so that the screen is not redrawn while a block is
    timed.
    """
    cold: bool = False
    """Alternate between several input buffers that together exceed the last-level cache."""
    latency: bool = True
    """Whether to time single synchronized calls, one per block."""
    phases: bool = True
    """Whether to split the time of a call into phases."""
    placement: bool = True
    """Whether to observe on which device each op runs."""
    seed: int | None = None
    """Seed for the random order of arms; None for a random seed."""
    worker: int = 0
    """Index of this worker among the fresh workers of a `publish` run, from 0."""
    zygote: int | None = None
    """For a forked worker, the index of its zygote; None for a fresh worker."""
    waits: bool = False
    """Build the arms, send only `TurnOver`, and start timing at the first `Turn`. The processes of a run
    thus build their arms at the same time but are timed one after another.
    """
    settled: tuple[str, ...] = ()
    """The arms that an earlier process of the run found at full speed from their first block; their warm-up
    is short.
    """
    part: int = 0
    """If some arms must not share a process: the index of the group of arms that this process measures,
    from 0.
    """
    spool: str = ""
    """The folder for a copy of the run's events until the run is over; `~` means the measuring machine's
    default folder.

    If the lab disappears, the events stay there.
    """
    finish: bool = True
    """Whether to finish the run if the lab disappears."""
    points: tuple[Point, ...] = ()
    """The sweep points to measure, to resume a run; empty for all points."""
    turns: bool = False
    """True if other workers on this machine measure the same run. Before each round, this worker sends
    `TurnOver` and waits idle for a `Turn`.
    """
    roofs: tuple[Roofs, ...] | None = None
    """Known roofs (hardware limits) of the machines that may measure.

    The worker reports the roofs of its own machine with the run, or measures them at the end if they are not
    known. If None, the worker neither reports nor measures roofs.
    """
    roofs_later: bool = False
    """Do not measure roofs during the run. `Finished` reports whether roofs must still be measured."""


class Cancel(_Request, frozen=True, kw_only=True, tag="cancel"):
    """Stop the run `id` between two calls. The worker's reading thread handles this request immediately."""


class Painted(_Request, frozen=True, kw_only=True, tag="painted"):
    """The lab has shown the last report of the run `id`."""


class Turn(_Request, frozen=True, kw_only=True, tag="turn"):
    """In the run `id`, it is this worker's turn to measure."""


class Declare(_Request, frozen=True, kw_only=True, tag="declare"):
    """Load the user's function or model and return its declaration."""

    file: str
    """`path/to/file.py:name`, `model.keras` or `FOLDER:SIGNATURE`."""
    opening: Opening = AS_IT_IS
    """The user's permissions for a model file, and its inputs."""


class Ask(_Request, frozen=True, kw_only=True, tag="ask"):
    """A request other than a run. `kind` names the handler; `body` is the handler's struct as JSON."""

    kind: str
    """Name of the worker's handler for this request."""
    body: msgspec.Raw = msgspec.Raw(b"{}")
    """The handler's struct as JSON: the data of the request."""
    idle: bool = False
    """Answer only while no other request is pending. A later request interrupts this request, which is then
    refused.
    """


class Shutdown(_Request, frozen=True, kw_only=True, tag="shutdown"):
    """Finish the current work and exit."""


Request = Measure | Cancel | Painted | Turn | Declare | Ask | Shutdown

CONFINE = "TUILAB_CONFINE"
"""Environment variable that confines a worker from its start; its value is the text from `confined_to`."""


class _Measured(msgspec.Struct):
    """The fields of an `Ask` body that name the code to measure."""

    scenario: Scenario | None = None


def confined_to(request: Request) -> str:
    """Return, as JSON, the files that a worker may open for the request; "" if the worker is not confined."""
    if isinstance(request, Declare):
        return scope(request.file, request.opening)
    if isinstance(request, Measure):
        return scope(request.scenario.file, request.scenario.opening)
    if isinstance(request, Ask) and b'"scenario"' in bytes(request.body):
        scenario = msgspec.json.decode(request.body, type=_Measured).scenario
        return scope(scenario.file, scenario.opening) if scenario else ""
    return ""


def scope(file: str, opening: Opening) -> str:
    """Return, as JSON, the files that a worker may open for a scenario.

    Only an untrusted model confines a worker: it may open the model, its data and its code.
    """
    if not file or opening.trust or not isinstance(subject_of(file), Model):
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
