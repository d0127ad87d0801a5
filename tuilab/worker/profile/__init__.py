"""The question `profile`: run a few calls under TensorFlow's profiler, in a separate pass."""
