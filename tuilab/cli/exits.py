"""The exit codes of every command."""

DONE = 0
# `check` and `watch`: findings at or above --fail-on; `selftest`: a check failed.
FINDINGS = 1
BAD_INPUT = 2
WORKER_FAILED = 3
NOT_CONFIRMED = 4
INTERRUPTED = 130
FAULT = 70
