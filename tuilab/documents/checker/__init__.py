"""The parts of `tuilab check` around the rules: files, settings, baseline, output formats, `--fix`."""
