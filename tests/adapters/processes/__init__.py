"""Real process trees."""
