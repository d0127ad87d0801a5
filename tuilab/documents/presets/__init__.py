"""Turns recognized workloads into presets: builds them, extracts claims from the prose, and writes
the file.
"""
