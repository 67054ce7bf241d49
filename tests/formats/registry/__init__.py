"""Steps registries."""
