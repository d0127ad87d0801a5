"""Live figures of the device and the host, for the device panel. Imports no TensorFlow and no Textual."""
