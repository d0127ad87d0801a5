"""Find the rounds during which every worker was measuring."""

from dataclasses import dataclass

from tuilab.model import events as e


@dataclass
class _Span:
    """A worker's rounds on this side's clock. began: None before the first. end: None until they are over."""

    began: float | None = None
    last: float = 0.0
    end: float | None = None


class Overlap:
    """Receives each worker's events and decides for each round whether all workers were measuring.

    Round times are on the worker's own clock, from its reported start; this side's clock only relates the
    starts.
    """

    def __init__(self, workers: list[str]) -> None:
        self._spans = {worker: _Span() for worker in workers}
        self.left_out = dict.fromkeys(workers, 0)

    def holds(self, worker: str, event: e.Event, now: float) -> bool:
        """Return True if every other worker was measuring during a round."""
        span = self._spans[worker]
        match event:
            case e.Progress(stage="measuring"):
                span.began = now if span.began is None else span.began
            case e.Round():
                return self._round(worker, span, event)
            case e.Log() | e.Progress():
                pass
            case _ if span.began is not None and span.end is None:
                self.ended(worker)
        return True

    def ended(self, worker: str) -> None:
        """Note that the worker's rounds are over."""
        span = self._spans[worker]
        span.end = (span.began or 0.0) + span.last

    def _round(self, worker: str, span: _Span, event: e.Round) -> bool:
        assert span.began is not None
        begin, end = span.began + span.last, span.began + event.elapsed_s
        span.last = event.elapsed_s
        others = [other for name, other in self._spans.items() if name != worker]
        inside = all(
            other.began is not None and other.began <= begin and (other.end is None or end <= other.end)
            for other in others
        )
        self.left_out[worker] += not inside
        return inside
