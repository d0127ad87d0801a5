"""A software GPU for tests on machines without one. Its name contains EMULATED wherever it appears."""
