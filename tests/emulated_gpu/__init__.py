"""Emulates a GPU for tests. The name of each emulated GPU contains EMULATED."""
