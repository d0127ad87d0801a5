"""Finds presets, reads them, and checks them against their workloads."""

from tuilab.catalogue.load import Catalogue, Problem, folders, load
from tuilab.catalogue.plan import scenario

__all__ = ["Catalogue", "Problem", "folders", "load", "scenario"]
