"""All attacks, by what they reach for."""
