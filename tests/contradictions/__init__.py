"""All figures and words about one quantity of a run agree wherever they appear."""
