"""All figures and words about a run's quantity agree wherever they appear."""
