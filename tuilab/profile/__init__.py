"""A profile of TensorFlow as plain data: its file read, what each event means, whose each moment is."""
