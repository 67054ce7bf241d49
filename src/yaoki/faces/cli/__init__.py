"""The command line: arguments in, one call, few lines out; no rules."""

# The variable in which a shell asks for completions; its name follows from that of the program.
COMPLETION_VARIABLE = "_YAOKI_COMPLETE"
