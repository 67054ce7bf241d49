"""Agents as real processes."""
