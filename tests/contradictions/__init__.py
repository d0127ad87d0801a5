"""Every figure and word about one quantity of a run agrees with the others, wherever it appears."""
