"""Complete user stories with the built wheel, real processes, a real terminal and a real browser."""
