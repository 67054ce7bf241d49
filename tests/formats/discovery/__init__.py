"""What `yaoki init` finds."""
