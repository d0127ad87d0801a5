"""Interprets the reports of a watched program's observer: steps, parts, ops, and what to change. Pure
functions.
"""
