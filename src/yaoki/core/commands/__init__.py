"""What a command line means: the program behind it, its exit codes, whether it can fail."""
