"""Finds out why TensorFlow sees no GPU, probe by probe, without importing TensorFlow in this process."""
