"""The vocabulary of the lab, as plain typed data. Imports nothing else of tuilab."""
