"""The worker process, the only one that runs TensorFlow."""
