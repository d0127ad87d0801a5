"""A software GPU for tests on machines without a GPU. Its name contains EMULATED wherever it appears."""
