"""Turns a TensorFlow profile into plain data: reads the file, interprets each event, and assigns each moment
of a call to a phase.
"""
