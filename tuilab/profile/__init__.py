"""Turns a TensorFlow profile into plain data: reads the file, interprets each event, attributes each
moment.
"""
