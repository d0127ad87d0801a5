"""A watched program, told by its observer: its steps, its parts, its ops, and what to change. Pure."""
