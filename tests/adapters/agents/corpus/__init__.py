"""Labelled endings of agents; README.md describes the format."""
