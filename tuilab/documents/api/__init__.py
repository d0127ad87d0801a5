"""TensorFlow's public names, by version: from shipped tables, or from the installed TensorFlow."""
