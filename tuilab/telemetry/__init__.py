"""Live figures of the devices and the host, for the device panel. Imports neither TensorFlow nor Textual."""
