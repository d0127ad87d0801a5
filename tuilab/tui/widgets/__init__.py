"""The lab's own widgets. They receive plain data and post messages."""
