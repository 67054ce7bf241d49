"""The core by tables and properties."""
