"""Worker processes from the lab's side: start, keep warm, stream events, stop, replace."""
