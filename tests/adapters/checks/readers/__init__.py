"""Readers of recorded and real tool output."""
