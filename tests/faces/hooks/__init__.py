"""Hook mode."""
