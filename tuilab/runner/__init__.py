"""Manages the lab's worker processes: starts them, keeps them warm, forwards their events, stops and replaces
them.
"""
