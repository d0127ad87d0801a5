"""A TensorFlow profile as plain data: reads its file, interprets each event, attributes each moment."""
