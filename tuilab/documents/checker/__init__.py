"""What `tuilab check` has around the rules: files, settings, baseline, formats of output, `--fix`."""
