"""Storage for runs, which are saved while they grow."""
