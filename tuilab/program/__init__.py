"""Derives findings from the observer's messages about a program: steps, parts, ops, and advised changes. Pure
functions.
"""
