"""A git remote that several machines share, or none."""
