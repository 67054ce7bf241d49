"""Adapters against the real world: git, processes, files, databases."""
