"""The command line: arguments in, one call, few lines out; no rules."""
