"""A GPU made of software, for tests on machines without one. It is called EMULATED wherever its name shows."""
