"""Why TensorFlow sees no GPU here, probe by probe, without importing TensorFlow into this process."""
