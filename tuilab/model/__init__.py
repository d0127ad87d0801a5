"""The lab's vocabulary as typed data. Imports no other package of tuilab."""
