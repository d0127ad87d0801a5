"""Every figure and word about one quantity of a run agrees, wherever it appears."""
