"""The lab's own widgets: plain data in, messages out."""
