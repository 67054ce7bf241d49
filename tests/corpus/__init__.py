"""Labelled endings of agents; README.md tells the form."""
