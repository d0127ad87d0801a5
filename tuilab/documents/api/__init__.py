"""The public names of TensorFlow, version by version: shipped, or asked of the one that is installed."""
