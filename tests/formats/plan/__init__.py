"""Plan files."""
