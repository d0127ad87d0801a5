"""TensorFlow's public names by version: shipped, or from the installed one."""
