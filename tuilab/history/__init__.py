"""Every run, kept as it grows."""
