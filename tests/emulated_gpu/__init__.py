"""Software that emulates a GPU for tests. Its name contains EMULATED wherever it appears."""
