"""What went wrong with an arm, for the people who will read it."""

from tuilab.model.events import ArmStatus
from tuilab.model.sanitize import sanitize_line
from tuilab.worker.tracebacks import told

REASON = 500


def failed(run: str, arm: str, error: BaseException, point: int | None = None) -> ArmStatus:
    """The event that says an arm raised: reason, cleaned traceback, and the error's type with its bases."""
    name = type(error).__name__
    said = sanitize_line(str(error).strip(), REASON)
    return ArmStatus(
        run=run,
        arm=arm,
        point=point,
        status="failed",
        reason=f"{name}: {said}" if said else name,
        detail=told(error),
        error=tuple(c.__name__ for c in type(error).__mro__ if c is not object),
    )


def unavailable(run: str, arm: str, reason: str, point: int | None = None) -> ArmStatus:
    """The event that says an arm cannot run here, and why."""
    return ArmStatus(
        run=run, arm=arm, point=point, status="unavailable", reason=sanitize_line(reason, REASON)
    )
