"""Turns a TensorFlow profile into plain data: reads the file, interprets each event, and assigns each
moment to a phase.
"""
