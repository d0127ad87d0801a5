"""The views behind the tabs. Each draws the current run in a different way."""
