"""Attacks: an agent, a repository or a browser reaches for what decides."""
