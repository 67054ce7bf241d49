"""Criteria on a diff."""
