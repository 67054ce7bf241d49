"""Git on real repositories."""
