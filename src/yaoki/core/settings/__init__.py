"""The settings as values: keys, bounds, defaults."""
