"""The files in which a worker keeps a run for a program that may be gone: what their endings say."""

KEPT, GOING_ON, DONE = ".kept", ".part", ".jsonl"
"""Its reader is there; the run goes on without one; it is at its end."""
