"""The commands: parse, call, print. Data goes to standard output, narration to standard error."""
