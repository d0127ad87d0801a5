"""The views behind the tabs. Each view shows the same run differently."""
