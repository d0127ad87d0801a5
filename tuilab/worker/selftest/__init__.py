"""The instrument held against things of known length: spins, equal calls, known differences."""
