"""All figures and words about the same quantity of a run agree wherever they appear."""
