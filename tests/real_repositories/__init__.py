"""Real repositories from their registries: a right change lands, a wrong one does not."""
