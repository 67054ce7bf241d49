"""The installed program, run as a person runs it."""
