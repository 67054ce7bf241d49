"""The engine apart from its edges."""
