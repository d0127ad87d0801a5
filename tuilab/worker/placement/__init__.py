"""Where an arm's ops ran, as observed, and why."""
