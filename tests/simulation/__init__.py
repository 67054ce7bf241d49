"""A worker is killed at every touch of the outside world, by seed."""
