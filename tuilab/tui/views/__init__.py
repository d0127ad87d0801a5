"""The views behind the tabs: each draws the current run in its own way."""
