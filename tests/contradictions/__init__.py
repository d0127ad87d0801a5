"""Every figure and word about one quantity of a run, taken from wherever it is told, agrees."""
