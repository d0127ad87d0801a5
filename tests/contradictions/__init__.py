"""All figures and words about one quantity of a run agree, in every place where they appear."""
