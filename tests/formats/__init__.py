"""Texts that become values."""
