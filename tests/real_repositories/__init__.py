"""Real repositories from their registries, broken on purpose: nothing of it may land."""
