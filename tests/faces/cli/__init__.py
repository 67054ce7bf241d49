"""The command line, below its commands."""
