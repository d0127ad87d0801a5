"""Presets: found, read, checked against the workloads they name."""

from tuilab.catalogue.load import Catalogue, Problem, folders, load
from tuilab.catalogue.plan import scenario

__all__ = ["Catalogue", "Problem", "folders", "load", "scenario"]
