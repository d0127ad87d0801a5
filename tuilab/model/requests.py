"""What a worker is asked: every message of the protocol towards the worker."""

import msgspec

from tuilab.model.arms import Arm
from tuilab.model.events import Point
from tuilab.model.scenario import Budget, Scenario, Sweep


class _Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    id: str


class Measure(_Request, frozen=True, kw_only=True, tag="measure"):
    """Run a scenario; `id` becomes the run's id.

    pace: wait for `Painted` after each report (at most 0.25 s), so that painting and timing do not share
    the processor. cold: rotate input buffers beyond the last-level cache. latency: take a single
    synchronised call beside each block. phases, placement: take these passes too. seed: of the order of
    cells. worker: which of several fresh workers this is, for `publish`. spool: a folder in which the run's
    events are kept until it is over; where the other side goes away, they are left there. finish: the run is
    then gone on with to its end.
    points: of a sweep, those to measure instead of its whole grid, to go on with a run.
    """

    scenario: Scenario
    arms: tuple[Arm, ...]
    budget: Budget
    sweep: Sweep | None = None
    preset: str = ""
    pace: bool = False
    cold: bool = False
    latency: bool = True
    phases: bool = True
    placement: bool = True
    seed: int | None = None
    worker: int = 0
    spool: str = ""
    finish: bool = True
    points: tuple[Point, ...] = ()


class Cancel(_Request, frozen=True, kw_only=True, tag="cancel"):
    """Stop the run `id` between calls. Obeyed at once by the reading thread."""


class Painted(_Request, frozen=True, kw_only=True, tag="painted"):
    """The screen has drawn the last report of run `id`."""


class Declare(_Request, frozen=True, kw_only=True, tag="declare"):
    """Load `path/to/file.py:function` and answer with its declaration."""

    file: str


class Ask(_Request, frozen=True, kw_only=True, tag="ask"):
    """A question other than a run. `kind` names the handler, `body` is its own struct as JSON."""

    kind: str
    body: msgspec.Raw = msgspec.Raw(b"{}")


class Shutdown(_Request, frozen=True, kw_only=True, tag="shutdown"):
    """Leave after what is under way."""


Request = Measure | Cancel | Painted | Declare | Ask | Shutdown

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)


def encode(request: Request) -> bytes:
    """One JSON line, newline included."""
    return _encoder.encode(request) + b"\n"


def decode(line: bytes) -> Request:
    """The request in a JSON line. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoder.decode(line)
