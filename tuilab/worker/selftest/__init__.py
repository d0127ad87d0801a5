"""Tests the measuring engine against known truths: spins of known length, equal calls, known differences."""
