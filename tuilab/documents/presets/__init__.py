"""From recognised workloads to presets: what is measured, what the prose claims of it, the file written."""
