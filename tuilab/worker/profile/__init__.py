"""The question `profile`: a few calls under TensorFlow's profiler, in a pass of their own."""
