"""Checks on real processes and files."""
