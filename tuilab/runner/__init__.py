"""Manages worker processes for the lab: starts them, keeps them warm, streams events, stops and replaces
them.
"""
