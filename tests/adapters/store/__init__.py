"""One conformance suite over every database."""
