"""This side of the worker's process: start it, keep it warm, stream its events, stop it, replace it."""
