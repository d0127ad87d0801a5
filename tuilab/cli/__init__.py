"""The commands: parse, call, print. Data goes to standard output, messages to standard error."""
