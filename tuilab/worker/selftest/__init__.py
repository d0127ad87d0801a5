"""Tests the measuring engine against known truths: busy-waits (spins) of known length, equal calls, known
differences.
"""
