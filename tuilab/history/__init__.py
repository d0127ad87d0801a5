"""Saves every run as it grows."""
