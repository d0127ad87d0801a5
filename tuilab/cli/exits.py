"""The exit codes of every command."""

DONE = 0
# `check` and `watch`: there are findings at or above --fail-on; `selftest`: a check failed.
FINDINGS = 1
BAD_INPUT = 2
WORKER_FAILED = 3
NOT_CONFIRMED = 4
# A run was measured but could not be saved.
NOT_KEPT = 5
INTERRUPTED = 130
FAULT = 70

unkept: list[str] = []


def final(code: int) -> int:
    lost = bool(unkept)
    unkept.clear()
    return NOT_KEPT if lost and code == DONE else code
