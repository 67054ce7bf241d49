"""Text for terminals: columns, wrapping, errors."""
