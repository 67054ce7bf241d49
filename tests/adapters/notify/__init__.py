"""Channels of notices."""
