"""The other process: the only place where TensorFlow runs."""
