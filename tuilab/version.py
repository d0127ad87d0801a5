"""The version of tuilab, and the folder of its modules."""

from pathlib import Path

__version__ = "0.1.0"
HOME = Path(__file__).resolve().parent
