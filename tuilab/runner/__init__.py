"""Starts the lab's worker processes, keeps them warm, forwards their events, stops and replaces them."""
