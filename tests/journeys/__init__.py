"""What users do, from the first command to the last: the built wheel, real processes, a real terminal and browser."""
