"""Turn recognised workloads into presets: what to measure, the prose's claims, and the file."""
