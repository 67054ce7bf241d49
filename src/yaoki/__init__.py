"""yaoki carries the work of coding agents to a proven end."""

__version__ = "0.1.0"
