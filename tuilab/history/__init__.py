"""Stores runs. Each run is saved while it is being measured."""
