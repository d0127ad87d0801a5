"""The lab's own widgets: they receive plain data and post messages."""
