"""Measurements: run them by hand, they are no tests."""
