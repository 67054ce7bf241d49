"""The meaning of a command line: the program behind it, its exit codes, and whether it can fail."""
