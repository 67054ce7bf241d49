"""Protection of state that an agent must not change: its fingerprints, and a git repository of the
agent's own.
"""
