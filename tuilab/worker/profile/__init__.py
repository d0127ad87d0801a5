"""Answers the question `profile`: runs a few calls under TensorFlow's profiler, in a separate pass."""
