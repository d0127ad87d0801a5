"""The commands: parse arguments, call the lab, print. Data goes to standard output, messages to standard
error.
"""
