"""The exit codes of every command."""

DONE = 0
BAD_INPUT = 2
WORKER_FAILED = 3
NOT_CONFIRMED = 4
INTERRUPTED = 130
