"""Per-op times and a timeline, from TensorFlow's profiler, in a pass of its own."""
