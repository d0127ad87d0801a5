"""User stories with the built wheel, in real processes, terminals and browsers."""
