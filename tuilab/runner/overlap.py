"""Finds the rounds during which every worker of a run was measuring."""

from dataclasses import dataclass

from tuilab.model import events as e


@dataclass
class _Span:
    """The period in which a worker measures rounds, on this process's clock.

    began: start of the first round, if any. end: end of the last round; None while the worker measures.
    """

    began: float | None = None
    last: float = 0.0
    end: float | None = None


class Overlap:
    """Decides for each round whether every worker was measuring, from the events of all workers.

    Times of rounds come from the worker's own clock, and are relative to the worker's reported start. This
    process's clock only relates the workers' starts to each other.
    """

    def __init__(self, workers: list[str]) -> None:
        self._spans = {worker: _Span() for worker in workers}
        self.left_out = dict.fromkeys(workers, 0)

    def holds(self, worker: str, event: e.Event, now: float) -> bool:
        """Process an event of a worker. Return False for a round during which another worker was not
        measuring.
        """
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
