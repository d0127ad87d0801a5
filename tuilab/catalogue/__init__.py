"""Finds presets, reads them, and checks them against their workloads."""

from tuilab.catalogue.load import Catalogue, Problem, load

__all__ = ["Catalogue", "Problem", "load"]
