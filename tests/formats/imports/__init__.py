"""Task lists of other tools."""
