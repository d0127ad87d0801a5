"""The views behind the tabs: each draws the run on the screen in its own way."""
