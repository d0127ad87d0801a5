"""A watched program, as its observer reports it: steps, parts, ops, and what to change. Pure functions."""
