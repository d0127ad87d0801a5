"""Observes where an arm's ops run, and explains why."""
